/** Posts JSON; throws if the server is unavailable. */
export async function post(path: string, body: unknown): Promise<any> {
  const response = await fetch(path, { method: "POST", body: JSON.stringify(body) });
  return response.json();
}
