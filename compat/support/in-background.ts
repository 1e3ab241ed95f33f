/**
 * A command and its first arguments that run Node.js behind everything else: builds and compilers use whole cores, and programs with
 * short leases run beside them.
 */
export const IN_BACKGROUND = ["nice", "-n", "10", process.execPath] as const;
