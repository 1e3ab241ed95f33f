import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Stands in for services that we don't run: a shipper and a mailer that know what an idempotency key is. */
export interface OutsideServices extends AsyncDisposable {
  readonly url: string;
  /** Requests that came, by path. */
  readonly requests: ReadonlyMap<string, number>;
  /** What was really done, by path: requests with different keys. */
  done(path: string): number;
}

/** Starts them on a free port of this machine. */
export async function startOutsideServices(): Promise<OutsideServices> {
  const requests = new Map<string, number>();
  const answers = new Map<string, string>();
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    requests.set(path, (requests.get(path) ?? 0) + 1);
    answer(request, response, path, answers).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    done: (path) => [...answers.keys()].filter((key) => key.startsWith(`${path} `)).length,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Does what is asked once for each key, and answers the same to the same key. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  answers: Map<string, string>,
): Promise<void> {
  await request.toArray(); // what is asked for doesn't matter here, but a server reads it
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string") {
    response.writeHead(400).end("an idempotency-key is needed");
    return;
  }
  const known = answers.get(`${path} ${key}`);
  const text = known ?? JSON.stringify(path === "/shipments" ? { trackingCode: `T-${1000 + answers.size}` } : {});
  answers.set(`${path} ${key}`, text);
  response.writeHead(200, { "content-type": "application/json" }).end(text);
}
