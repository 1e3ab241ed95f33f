import { AssertionError } from "node:assert";
import { setTimeout as delay } from "node:timers/promises";
import type { NodeInfo } from "../builder/run.ts";
import { nodeInfo } from "../client/run-handle.ts";
import { RunNotFoundError } from "../errors/run-not-found-error.ts";
import { type Duration, toMilliseconds } from "../model/duration.ts";
import { bucketOf, isRunId } from "../model/run-id.ts";
import type { NodeState } from "../model/states.ts";
import { readNodes } from "../sql/read/read-nodes.ts";
import type { Installed } from "./installed.ts";

const LOOK_GAP_MS = 20;
/** So many nodes are listed in an error. */
const SHOWN_MAX = 50;
const TERMINAL: readonly NodeState[] = ["completed", "discarded", "cancelled"];

/** Reads a run's rows until a node is in one of these states. @throws AssertionError with all nodes of the run */
export async function waitForNode(
  installed: Installed,
  runId: string,
  name: string,
  state: NodeState | readonly NodeState[],
  timeout: Duration,
): Promise<NodeInfo> {
  const wanted = typeof state === "string" ? [state] : state;
  const timeoutMs = toMilliseconds(timeout, "timeout");
  const until = performance.now() + timeoutMs;
  if (!isRunId(runId)) throw new RunNotFoundError(runId);
  const place = { bucket: bucketOf(runId, await installed.bucketCount()), runId };
  for (;;) {
    const nodes = (await installed.run(readNodes, place)).map(nodeInfo);
    if (nodes.length === 0) throw new RunNotFoundError(runId);
    const node = nodes.find((candidate) => candidate.name === name);
    if (node === undefined) throw failure(`Run ${runId} has no node "${name}".`, nodes, wanted, undefined);
    if (wanted.includes(node.state)) return node;
    const what = `Node "${name}" of run ${runId}`;
    if (TERMINAL.includes(node.state)) {
      throw failure(`${what} is ${node.state}, and won't be ${wanted.join(" or ")}.`, nodes, wanted, node);
    }
    if (performance.now() > until) {
      throw failure(`${what} wasn't ${wanted.join(" or ")} within ${timeoutMs} ms.`, nodes, wanted, node);
    }
    await delay(LOOK_GAP_MS);
  }
}

function failure(
  message: string,
  nodes: readonly NodeInfo[],
  wanted: readonly NodeState[],
  node: NodeInfo | undefined,
): AssertionError {
  const lines = nodes.slice(0, SHOWN_MAX).map(({ name, state, attempt, reclaims, error }) => {
    const counts = [attempt > 0 && `attempts ${attempt}`, reclaims > 0 && `reclaims ${reclaims}`].filter(Boolean);
    const details = [state, ...counts, ...(error === null ? [] : [`${error.name}: ${error.message}`])];
    return `  ${name}: ${details.join(", ")}`;
  });
  if (nodes.length > SHOWN_MAX) lines.push(`  and ${nodes.length - SHOWN_MAX} more`);
  return new AssertionError({
    message: `${message} Its nodes:\n${lines.join("\n")}`,
    actual: node?.state,
    expected: wanted.length === 1 ? wanted[0] : wanted,
    operator: "waitForNode",
    stackStartFn: waitForNode,
  });
}
