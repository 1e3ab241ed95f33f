import type { ClientOptions } from "../../src/index.ts";

/** A lease that no busy machine loses by being late. */
export const workerOptions = { leaseTtl: "6s", pollInterval: "50ms" } as const satisfies Partial<ClientOptions>;

/** A short one, for cases in which a lease has to run out before anything goes on. */
export const hastyWorkerOptions = { ...workerOptions, leaseTtl: "2s" } as const satisfies Partial<ClientOptions>;
