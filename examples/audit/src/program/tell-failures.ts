import type { Client } from "cyclone-pg";
import type { Display } from "./display.ts";

const SHOWN_MAX = 5;

/** Shows the first few failed calls: what goes wrong for one package may go wrong for thousands. */
export function tellFailures(client: Client, display: Display): void {
  let count = 0;
  client.on("step.failed", ({ node, error }) => {
    count += 1;
    if (count <= SHOWN_MAX) display.note(`${node} failed, and will be tried again: ${error.message}`);
    if (count === SHOWN_MAX) display.note("more of these aren't shown");
  });
}
