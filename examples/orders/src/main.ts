import { startEmbeddedPostgres } from "cyclone-embedded";
import { demonstrate, type Outcome } from "./demonstration.ts";

if (process.argv.length > 2) {
  process.stderr.write("orders: takes no arguments; it shows one order on a temporary Postgres, and ends.\n");
  process.exit(2);
}
process.exitCode = await main();

/** @returns the exit code: 0 if the order was charged, shipped and mailed once */
async function main(): Promise<number> {
  say("» Starting a temporary Postgres …");
  await using postgres = await startEmbeddedPostgres();
  const outcome = await demonstrate(postgres.url, say);
  report(outcome);
  const once = outcome.ledgerRows === 1 && outcome.shipments === 1 && outcome.mails === 1;
  say(once ? "Charged once, shipped once, mailed once." : "This isn't what it should be.");
  return once ? 0 : 1;
}

function report(outcome: Outcome): void {
  say("");
  for (const { name, state, attempt, reclaims } of outcome.nodes) {
    say(`${name.padEnd(8)} ${state}, attempts ${attempt}, reclaims ${reclaims}`);
  }
  say("");
  say(`ledger rows     ${outcome.ledgerRows}`);
  say(`ship requests   ${outcome.shipRequests}, all with the same idempotency key`);
  say(`shipments       ${outcome.shipments} (${outcome.shipment.trackingCode})`);
  say(`mails           ${outcome.mails}`);
  say("");
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
