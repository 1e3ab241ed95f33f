/** Every future and node carries its runtime under this key; registered, so that copies of the package know each other's. */
export const FUTURE: unique symbol = Symbol.for("cyclone-pg.future");
