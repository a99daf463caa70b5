/** Posts JSON; throws when the server is not there. */
export async function post(path: string, body: unknown): Promise<any> {
  const response = await fetch(path, { method: "POST", body: JSON.stringify(body) });
  return response.json();
}
