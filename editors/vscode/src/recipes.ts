// Command “Ask by Recipe”: select a recipe, enter its arguments, ask the question.

import * as vscode from "vscode";
import { plainText, recipeLabel } from "./format";
import { showMessage } from "./notifications";
import type { PromptBuilder } from "./prompt_builder";
import type { Recipe, RecipeArgument, RecipeList } from "./protocol";
import type { Server } from "./server";

export async function askByRecipe(server: Server, prompts: PromptBuilder): Promise<void> {
  const { recipes, warnings } = await server.request<RecipeList>("recipes", {});
  for (const warning of warnings) void showMessage("Warning", warning);
  const choices = recipes.map((recipe) => ({ ...recipeLabel(recipe), recipe }));
  const choice = await vscode.window.showQuickPick(choices, {
    title: "Ask by recipe",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (choice === undefined) return;
  const values = await inputArguments(choice.recipe);
  if (values === undefined) return;
  const recipe = choice.recipe.name;
  await prompts.ask(choice.recipe.title, { recipe, ...(Object.keys(values).length > 0 && { arguments: values }) });
}

/** Ask for the arguments of a recipe; undefined if the user cancels. */
async function inputArguments(recipe: Recipe): Promise<Record<string, string> | undefined> {
  const values: Record<string, string> = {};
  for (const [i, argument] of recipe.arguments.entries()) {
    const value = await inputArgument(argument, `${recipe.title} (${i + 1}/${recipe.arguments.length})`);
    if (value === undefined) return undefined;
    if (value) values[argument.name] = value;
  }
  return values;
}

function inputArgument(argument: RecipeArgument, title: string): Thenable<string | undefined> {
  const hint = argument.required ? "" : argument.default ? ` (default: ${argument.default})` : " (optional)";
  if (argument.choices.length > 0) {
    const preferred = argument.default ?? "";
    const choices = [...argument.choices].sort((a, b) => Number(b === preferred) - Number(a === preferred));
    return vscode.window.showQuickPick(choices, { title, placeHolder: argument.description });
  }
  return vscode.window.showInputBox({
    title,
    prompt: plainText(`${argument.description}${hint}`),
    validateInput: (value) => (argument.required && !value.trim() ? "Enter a value." : undefined),
  });
}
