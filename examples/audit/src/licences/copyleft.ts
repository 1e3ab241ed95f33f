import type { LicenceExpression } from "./licence-expression.ts";

const COPYLEFT =
  /^([AL]?GPL|GFDL|MPL|EPL|CPL|IPL|CDDL|EUPL|OSL|CPAL|APSL|SSPL|MS-RL|RPL|RPSL|NPL|QPL|Sleepycat|CC-BY-(NC-)?SA|ODbL|CECILL-(1|2)|CECILL-C)([-.]|$)/i;

/**
 * True if whoever passes the package on must pass on sources under the same licence, in whole (GPL, AGPL) or for the package's
 * own files (LGPL, MPL, EPL …). With a choice (`OR`) it isn't, as soon as one of the alternatives isn't; with `AND` it is, as soon as one part is.
 * An exception (`WITH`) loosens copyleft but doesn't lift it. This sorts packages for a person to look at; it is no legal advice.
 */
export function isCopyleft(expression: LicenceExpression): boolean {
  if (expression.kind === "licence") return COPYLEFT.test(expression.id);
  return expression.kind === "and" ? expression.parts.some(isCopyleft) : expression.parts.every(isCopyleft);
}
