import { type Context, Discard, implement, RetryAfter } from "cyclone-pg";
import { charge, mail, type Shipment, ship } from "./order-contracts.ts";

/**
 * The handlers, for a worker.
 *
 * @param servicesUrl where the services outside are
 * @param beforeCompletion is called when a step's work is done and nothing of it is committed: for a demonstration, or a test
 */
export function orderHandlers(servicesUrl: string, beforeCompletion: (step: string) => Promise<void> = async () => {}) {
  return [
    implement(charge, async (ctx, { orderId, cents }) => {
      // The row and the completion of this node are one transaction: however often a worker dies in here, one row is left.
      const tx = await ctx.completionTx();
      await tx.query("insert into ledger (run_id, node, order_id, cents) values ($1, $2, $3, $4)", [
        ctx.runId,
        ctx.node,
        orderId,
        cents,
      ]);
      await beforeCompletion(ctx.step);
    }),
    implement(ship, async (ctx, { orderId, address }) => {
      const shipment = await post<Shipment>(ctx, `${servicesUrl}/shipments`, { orderId, address });
      await beforeCompletion(ctx.step);
      return shipment;
    }),
    implement(mail, async (ctx, message) => {
      await post(ctx, `${servicesUrl}/mails`, message);
      await beforeCompletion(ctx.step);
    }),
  ];
}

/**
 * Asks a service outside. A worker that dies after the request makes no record of it, and the next one asks again; the key is the
 * same then, so that the service can tell that it is the same request.
 */
async function post<T>(ctx: Context, url: string, body: unknown): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": ctx.idempotencyKey },
    body: JSON.stringify(body),
    signal: ctx.signal,
  });
  if (response.ok) return (await response.json()) as T;
  const said = `${url} answered ${response.status}: ${await response.text()}`;
  if (response.status === 429) throw new RetryAfter("1s", { message: said });
  // What the service refuses now it refuses always; all else may be better next time.
  throw response.status < 500 ? new Discard(said) : new Error(said);
}
