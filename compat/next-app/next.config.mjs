import { dirname } from "node:path";

// Only where Next.js itself is concerns these tests: two folders above. Of Cyclone there is nothing to say.
const above = dirname(dirname(import.meta.dirname));

export default {
  ...(process.env.STANDALONE === "1" ? { output: "standalone" } : {}),
  outputFileTracingRoot: above,
  turbopack: { root: above },
};
