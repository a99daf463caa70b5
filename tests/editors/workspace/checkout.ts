import { post } from "./http";

/** Sends the cart to the bank and waits for its answer. */
export async function pay(cart: { total: number }, card: string): Promise<boolean> {
  const answer = await post("/payments", { cents: cart.total, card });
  return answer.accepted;
}
