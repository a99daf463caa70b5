// Named tasks: choose one, fill in its arguments, say what it is about.

import * as vscode from "vscode";
import { recipeLabel } from "./format";
import type { Prompts } from "./prompts";
import type { Recipe, RecipeArgument, Recipes } from "./protocol";
import type { Server } from "./server";

export async function askByRecipe(server: Server, prompts: Prompts): Promise<void> {
  const { recipes, warnings } = await server.request<Recipes>("recipes", {});
  for (const warning of warnings) void vscode.window.showWarningMessage(`promptls: ${warning}`);
  const choices = recipes.map((recipe) => ({ ...recipeLabel(recipe), recipe }));
  const chosen = await vscode.window.showQuickPick(choices, {
    title: "Ask by recipe",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen === undefined) return;
  const filled = await fill(chosen.recipe);
  if (filled === undefined) return;
  await prompts.ask({
    title: chosen.recipe.title,
    with: { recipe: chosen.recipe.name, ...(Object.keys(filled).length > 0 && { arguments: filled }) },
  });
}

/** Values of the arguments; undefined when the user has left. */
async function fill(recipe: Recipe): Promise<Record<string, string> | undefined> {
  const out: Record<string, string> = {};
  for (const [i, argument] of recipe.arguments.entries()) {
    const value = await askFor(argument, `${recipe.title} (${i + 1}/${recipe.arguments.length})`);
    if (value === undefined) return undefined;
    if (value) out[argument.name] = value;
  }
  return out;
}

function askFor(argument: RecipeArgument, title: string): Thenable<string | undefined> {
  const hint = argument.required ? "" : argument.default ? ` (${argument.default} if left empty)` : " (may stay empty)";
  if (argument.choices.length > 0) {
    const first = argument.default ?? "";
    const choices = [...argument.choices].sort((a, b) => Number(b === first) - Number(a === first));
    return vscode.window.showQuickPick(choices, { title, placeHolder: argument.description });
  }
  return vscode.window.showInputBox({
    title,
    prompt: `${argument.description}${hint}`,
    validateInput: (value) => (argument.required && !value.trim() ? "This is needed." : undefined),
  });
}
