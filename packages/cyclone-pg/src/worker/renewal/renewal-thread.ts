import { parentPort, workerData } from "node:worker_threads";
import { newClient } from "../../db/connection-source.ts";
import { errorCode } from "../../db/database-errors.ts";
import { Session } from "../../db/session.ts";
import { tablesOf } from "../../sql/tables.ts";
import type { FromRenewal, RenewalSetup, ToRenewal } from "./messages.ts";
import { RenewalLoop } from "./renewal-loop.ts";
import { renewalTimeoutMs } from "./timing.ts";

// The entry of the renewal thread. The build bundles it, with the driver, into one string, so that it also runs from an
// application that was itself bundled into a single file.

const setup = workerData as RenewalSetup;
const beat = new BigInt64Array(setup.beat);
const send = (message: FromRenewal): void => parentPort?.postMessage(message);

const waiting: { resolve: (password: string) => void; reject: (error: Error) => void }[] = [];
const password = (): Promise<string> =>
  new Promise((resolve, reject) => {
    waiting.push({ resolve, reject });
    send({ kind: "ask-password" });
  });
const config = setup.asksForPassword ? { ...setup.config, password } : setup.config;

const session = new Session({
  newClient: () => newClient(config, setup.applicationName),
  tables: tablesOf(setup.schema),
  timeoutMs: renewalTimeoutMs(setup.leaseMs),
});
const loop = new RenewalLoop({
  session,
  leaseMs: setup.leaseMs,
  givenUp: () => Number(process.hrtime.bigint() - Atomics.load(beat, 0)) / 1e6 > setup.maxBlockedMs,
  onLost: (ids, blocked) => send({ kind: "lost", ids, blocked }),
  onReady: () => send({ kind: "connected" }),
  onFailure: (error) =>
    send({ kind: "failed", message: error instanceof Error ? error.message : String(error), code: errorCode(error) }),
});

parentPort?.on("message", (message: ToRenewal) => {
  switch (message.kind) {
    case "add":
      return loop.add(message.leases);
    case "remove":
      return loop.remove(message.ids);
    case "progress":
      return loop.progress(message.id, message.fraction, message.message);
    case "renew":
      return loop.renewNow();
    case "password":
      for (const { resolve } of waiting.splice(0)) resolve(message.password);
      return undefined;
    case "no-password":
      for (const { reject } of waiting.splice(0)) reject(new Error(message.message));
      return undefined;
    case "stop":
      // The main thread ends this one then. It can't by itself: not every runtime's port to the parent has `close`.
      return void loop.stop().then(() => send({ kind: "stopped" }));
  }
});
loop.start();
