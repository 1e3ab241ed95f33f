import { describe, expect, test } from "vitest";
import { audit, nodeName } from "./audit-workflow.ts";

describe("the audit workflow", () => {
  test("has a node for each package, named like its path, and the summary after them all", () => {
    const plan = audit.plan({ folder: "/app", packages: ["node_modules/a", "node_modules/@s/b"] });
    expect(plan.nodes.map(({ name, step }) => [name, step])).toEqual([
      ["node_modules/a", "inspect"],
      ["node_modules/@s/b", "inspect"],
      ["summarise", "summarise"],
    ]);
    expect(plan.edges).toEqual([
      { from: "node_modules/a", to: "summarise", kind: "order" },
      { from: "node_modules/@s/b", to: "summarise", kind: "order" },
    ]);
    expect(plan.result).toBe("summarise");
  });

  test("is only the summary where nothing is installed", () => {
    expect(audit.plan({ folder: "/app", packages: [] }).nodes.map(({ name }) => name)).toEqual(["summarise"]);
  });

  test("takes 5,000 packages", () => {
    const packages = Array.from({ length: 5_000 }, (_, index) => `node_modules/p${index}`);
    expect(audit.plan({ folder: "/app", packages }).edges).toHaveLength(5_000);
  });
});

describe("nodeName", () => {
  test("cuts what is too long for a name, and keeps different paths apart", () => {
    const deep = "node_modules/x/".repeat(40);
    expect(nodeName(`${deep}a`)).not.toBe(nodeName(`${deep}b`));
    expect(nodeName(`b${deep}`)).not.toBe(nodeName(`c${deep}`));
    expect(Array.from(nodeName(`${deep}𝒶`)).length).toBeLessThanOrEqual(200);
  });

  test("changes a name that looks like an item's", () => {
    expect(nodeName("node_modules/a[1]")).toMatch(/ …node_modules\/a\[1\] \(cut\)$/);
    expect(nodeName("node_modules/a")).toBe("node_modules/a");
  });
});
