import { defineWorkflow } from "cyclone-pg";
import { charge, mail, type Order, ship } from "./order-contracts.ts";

/** charge → ship → mail. The result is the shipment. */
export const orderWorkflow = defineWorkflow("order", (b, order: Order) => {
  const charged = charge.do(b, { orderId: order.id, cents: order.cents });
  // Nothing of the charge is needed to ship, only that it was made: an edge of order, not of data.
  const shipment = ship.do(b, { orderId: order.id, address: order.address }, { after: [charged] });
  mail.do(b, { to: order.email, orderId: order.id, trackingCode: shipment.get("trackingCode") });
  return shipment;
});
