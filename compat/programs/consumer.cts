// CommonJS, as older services are: the package is an ES module, which Node.js 20.19 and later can require.
import cyclone = require("cyclone-pg");
import otel = require("cyclone-pg/otel");

const add: cyclone.Step<number, number> = cyclone.defineStep("add", (_ctx, n: number) => n + 1);
const client: cyclone.Client = cyclone.createClient({ connection: "postgres://localhost/db", handlers: [add] });
export = { add, client, figures: otel.figuresOf(client) };
