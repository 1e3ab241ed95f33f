import { findClaiming } from "../../../src/sql/queue/find-claiming.ts";
import { listQueues } from "../../../src/sql/queue/list-queues.ts";
import { pauseQueue } from "../../../src/sql/queue/pause-queue.ts";
import { resumeQueue } from "../../../src/sql/queue/resume-queue.ts";
import { type PlanCase, planCase } from "../plan-cases.ts";
import { SHAPES } from "../volume.ts";

const lengthOf = (rows: readonly unknown[]): number => rows.length;
const small = { buffers: 0, rows: 0 };

export const queueCases = (): readonly PlanCase[] => [
  planCase({
    name: "pause a queue",
    statement: pauseQueue,
    params: { bucket: 0, name: "not-here" },
    items: 1,
    expected: lengthOf,
    ...small,
  }),
  planCase({
    name: "resume a queue",
    statement: resumeQueue,
    params: { bucket: 0, name: "paused-1" },
    items: 1,
    expected: lengthOf,
    ...small,
  }),
  planCase({
    name: "list the queues that were paused",
    statement: listQueues,
    params: { bucket: 0 },
    items: SHAPES.paused,
    expected: lengthOf,
    buffers: 1,
    rows: 2,
  }),
  planCase({
    name: "find who claims while nobody does",
    statement: findClaiming,
    params: { bucket: 0, name: "paused-1" },
    items: 0,
    expected: lengthOf,
    ...small,
  }),
];
