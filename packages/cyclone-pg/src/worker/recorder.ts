import { setTimeout as delay } from "node:timers/promises";
import { isTransient } from "../db/database-errors.ts";
import type { Session } from "../db/session.ts";
import type { EndedRun, Outcome, Settlement } from "../engine/outcome.ts";
import { confirmLost } from "../engine/record/confirm-lost.ts";
import { recordAlone } from "../engine/record/record-alone.ts";
import {
  type Recorded,
  type RecordKind,
  type RunStatement,
  recordBatch,
  recordKindOf,
} from "../engine/record/record-batch.ts";

export interface RecorderOptions<Member extends Settlement> {
  readonly session: Session;
  readonly owner: string;
  /** After the commit: the member's row moved by this outcome, or was no longer ours. */
  readonly onRecorded: (member: Member, outcome: Outcome, moved: boolean) => void;
  readonly onActivated: (count: number) => void;
  readonly onEnded: (runs: readonly EndedRun[]) => void;
  /** Runs that fail fast have failed, and still have live nodes. */
  readonly onFailingFast: () => void;
  /** The database refuses this member for good, or can't activate what follows from it now. */
  readonly onRefused: (member: Member, error: unknown) => void;
  readonly onTrouble: (error: unknown) => void;
}

const MEMBERS_MAX = 500;
const BYTES_MAX = 8 * 1024 * 1024;
const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;

/**
 * Records outcomes in group commit: whatever has become ready while one transaction was under way shares the next, without added
 * delay. Lost connections are retried (the epoch makes that harmless); a batch that the database refuses is split until the
 * member at fault is alone, so that it doesn't hurt the others.
 */
export class Recorder<Member extends Settlement> {
  readonly #options: RecorderOptions<Member>;
  readonly #run: RunStatement;
  /** By bucket and kind, in the order of arrival. */
  readonly #due = new Map<string, Member[]>();
  #size = 0;
  #working: Promise<void> | undefined;
  #abandoned = false;

  constructor(options: RecorderOptions<Member>) {
    this.#options = options;
    this.#run = (statement, params, extraMs) => options.session.run(statement, params, extraMs);
  }

  /** Members that aren't recorded yet. */
  get size(): number {
    return this.#size;
  }

  push(member: Member): void {
    const key = `${recordKindOf(member.outcome)}:${member.lease.bucket}`;
    const list = this.#due.get(key);
    if (list === undefined) this.#due.set(key, [member]);
    else list.push(member);
    this.#size += 1;
    this.#working ??= this.#work();
  }

  /** Resolves once nothing is left to record. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  /** Gives up on what can't be recorded now; leases run out, and the steps are reclaimed. */
  abandon(): void {
    this.#abandoned = true;
  }

  async #work(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve)); // handlers that settle in this turn go along
    try {
      while (this.#size > 0) {
        for (const [key, list] of this.#due) {
          const batch = this.#take(key, list);
          if (this.#abandoned) for (const member of batch) this.#options.onRecorded(member, member.outcome, false);
          else await this.#record(recordKindOf(batch[0]?.outcome ?? { kind: "committed" }), batch);
          this.#size -= batch.length;
        }
      }
    } finally {
      this.#working = undefined;
    }
    if (this.#size > 0) this.#working ??= this.#work();
  }

  #take(key: string, list: Member[]): Member[] {
    let bytes = 0;
    let count = 0;
    for (const { outcome } of list) {
      bytes += outcome.kind === "completed" ? (outcome.output?.length ?? 0) : 0;
      if (count > 0 && (count >= MEMBERS_MAX || bytes > BYTES_MAX)) break;
      count += 1;
    }
    if (count >= list.length) this.#due.delete(key);
    return list.splice(0, count);
  }

  async #record(kind: RecordKind, batch: readonly Member[]): Promise<void> {
    const recorded = await this.#retrying(() => recordBatch(this.#run, kind, batch, this.#options.owner));
    switch (recorded.kind) {
      case "done":
        return this.#report(batch, recorded.retried ? await this.#confirm(recorded.value) : recorded.value);
      case "abandoned":
        for (const member of batch) this.#options.onRecorded(member, member.outcome, false);
        return undefined;
      case "refused":
        if (batch.length === 1) return this.#recordAlone(batch[0] as Member);
        await this.#record(kind, batch.slice(0, batch.length >> 1));
        return this.#record(kind, batch.slice(batch.length >> 1));
    }
  }

  async #recordAlone(member: Member): Promise<void> {
    const result = await this.#retrying(() => recordAlone(this.#run, member, this.#options.owner));
    if (result.kind !== "done") {
      this.#options.onRecorded(member, member.outcome, false);
      return;
    }
    const { value } = result;
    if (value.kind === "recorded") {
      const recorded = result.retried ? await this.#confirm(value.recorded) : value.recorded;
      this.#options.onRecorded(member, value.outcome, recorded.lost.length === 0);
      return this.#tell(recorded);
    }
    this.#options.onRefused(member, value.error);
    this.#options.onRecorded(member, member.outcome, value.kind === "unactivated");
  }

  /** After a lost reply the members that didn't move may have moved before. */
  async #confirm(recorded: Recorded): Promise<Recorded> {
    if (recorded.lost.length === 0) return recorded;
    const lost = await this.#retrying(() => confirmLost(this.#run, recorded.lost));
    return lost.kind === "done" ? { ...recorded, lost: lost.value } : recorded;
  }

  #report(batch: readonly Member[], recorded: Recorded): void {
    const lost = new Set<Settlement>(recorded.lost);
    for (const member of batch) this.#options.onRecorded(member, member.outcome, !lost.has(member));
    this.#tell(recorded);
  }

  #tell(recorded: Recorded): void {
    if (recorded.ended.length > 0) this.#options.onEnded(recorded.ended);
    if (recorded.activated > 0) this.#options.onActivated(recorded.activated);
    if (recorded.failingFast) this.#options.onFailingFast();
  }

  async #retrying<T>(
    work: () => Promise<T>,
  ): Promise<{ kind: "done"; value: T; retried: boolean } | { kind: "refused" } | { kind: "abandoned" }> {
    for (let failures = 0; ; failures += 1) {
      if (this.#abandoned) return { kind: "abandoned" };
      try {
        return { kind: "done", value: await work(), retried: failures > 0 };
      } catch (error) {
        if (!isTransient(error)) return { kind: "refused" };
        this.#options.onTrouble(error);
        await delay(Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2));
      }
    }
  }
}
