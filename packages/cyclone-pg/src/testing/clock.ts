import { type Duration, toMilliseconds } from "../model/duration.ts";
import { NOTHING_ISOLATED } from "../sql/isolation.ts";
import { look } from "../sql/sweep/look.ts";
import { promoteSteps } from "../sql/sweep/promote-steps.ts";
import { advanceTime } from "../sql/testing/advance-time.ts";
import type { Installed } from "./installed.ts";

const PROMOTE_MAX = 1_000;

/** Lets time pass for what waits in a database, without waiting. */
export class TestClock {
  readonly #installed: Installed;

  constructor(installed: Installed) {
    this.#installed = installed;
  }

  async advance(by: Duration): Promise<void> {
    const ms = toMilliseconds(by, "by");
    const buckets = await this.#installed.buckets();
    for (const bucket of buckets) await this.#installed.run(advanceTime, { bucket, ms });
    let promoted = 0;
    for (const bucket of buckets) promoted += await this.#promote(bucket);
    if (promoted > 0) await this.#installed.notifyWork();
  }

  /** Advances to the moment at which the next scheduled node is due. @returns whether there is one */
  async advanceToNext(): Promise<boolean> {
    const waits: number[] = [];
    for (const bucket of await this.#installed.buckets()) {
      const [seen] = await this.#installed.run(look, { bucket, queues: [], steps: [], unactivatedAfterMs: 0 });
      if (seen !== undefined && seen.next_due_ms !== null) waits.push(seen.next_due_ms);
    }
    if (waits.length === 0) return false;
    await this.advance(Math.max(0, Math.ceil(Math.min(...waits))));
    return true;
  }

  async #promote(bucket: number): Promise<number> {
    for (let promoted = 0; ; ) {
      const [row] = await this.#installed.run(promoteSteps, {
        bucket,
        limit: PROMOTE_MAX,
        isolation: NOTHING_ISOLATED,
      });
      promoted += row?.promoted ?? 0;
      if ((row?.promoted ?? 0) < PROMOTE_MAX) return promoted;
    }
  }
}
