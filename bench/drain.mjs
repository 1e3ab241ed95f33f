/**
 * First figures: how fast one worker process drains what is there, beside the same rows moved by bare statements, on one server in
 * one run, rounds interleaved. `npm run bench -- [--rounds 3] [--scale 1] [--concurrency 500] [--url postgres://…]`
 */
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "cyclone-embedded";
import { describeMachine } from "./describe-machine.mjs";
import { median, table } from "./figures.mjs";
import { scenarios } from "./scenarios.mjs";
import { withSchema } from "./with-schema.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    scale: { type: "string", default: "1" },
    concurrency: { type: "string", default: "500" },
    only: { type: "string" },
    url: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const settings = { scale: Number(values.scale), concurrency: Number(values.concurrency) };
const chosen = scenarios.filter(
  (scenario) => values.only === undefined || values.only.split(",").includes(scenario.name),
);

const server =
  values.url === undefined ? await startEmbeddedPostgres({ durable: true }) : { url: values.url, stop: async () => {} };
const machine = await describeMachine(server.url);
console.log(`${machine}\n${rounds} rounds, interleaved; in flight ${settings.concurrency}; medians\n`);

/** @type {Map<string, import("./with-schema.mjs").Figures[]>} */
const seen = new Map(chosen.map((scenario) => [scenario.name, []]));
for (let round = 1; round <= rounds; round++) {
  for (const scenario of chosen) {
    const figures = await withSchema(server.url, (place) => scenario.run({ ...place, ...settings }));
    seen.get(scenario.name)?.push(figures);
    console.error(
      `round ${round}: ${scenario.name} ${Math.round(figures.units / (figures.ms / 1000))} ${scenario.unit}/s`,
    );
  }
}

const rows = chosen.map((scenario) => {
  const figures = seen.get(scenario.name) ?? [];
  const rate = median(figures.map((f) => f.units / (f.ms / 1000)));
  const base = scenario.beside === undefined ? undefined : seen.get(scenario.beside);
  const baseRate = base === undefined ? undefined : median(base.map((f) => f.steps / (f.ms / 1000)));
  const stepRate = median(figures.map((f) => f.steps / (f.ms / 1000)));
  return {
    scenario: scenario.name,
    rate: `${Math.round(rate).toLocaleString("en")} ${scenario.unit}/s`,
    "steps/s": Math.round(stepRate).toLocaleString("en"),
    "beside bare": baseRate === undefined ? "" : (stepRate / baseRate).toFixed(2),
    "Postgres µs/step": median(figures.map((f) => (f.postgresCpuMs * 1000) / f.steps)).toFixed(0),
    "Node.js µs/step": median(figures.map((f) => (f.nodeCpuMs * 1000) / f.steps)).toFixed(0),
    "WAL bytes/step": median(figures.map((f) => f.walBytes / f.steps)).toFixed(0),
  };
});
console.log(values.json ? JSON.stringify({ machine, rounds, ...settings, rows }, null, 2) : table(rows));
await server.stop();
