import { lookUpCompletion } from "../../sql/complete/look-up-completion.ts";
import type { Outcome, Settlement } from "../outcome.ts";
import type { RunStatement } from "./record-batch.ts";

/** Of settlements that a repeated statement didn't move, those that an earlier try (whose reply was lost) hadn't moved either. */
export async function confirmLost(run: RunStatement, settlements: readonly Settlement[]): Promise<Settlement[]> {
  const lost: Settlement[] = [];
  for (const settlement of settlements) {
    const [row] = await run(lookUpCompletion, settlement.lease);
    const ours = row?.epoch === settlement.lease.epoch && statesAfter(settlement.outcome).includes(row.state);
    if (!ours) lost.push(settlement);
  }
  return lost;
}

function statesAfter(outcome: Outcome): readonly string[] {
  switch (outcome.kind) {
    case "completed":
    case "committed":
      return ["completed"];
    case "release":
      return ["scheduled", "available"];
    case "discard":
      return ["discarded"];
  }
}
