/**
 * form[data-typed] is what a person fills in; form.choose above it asks for the page anew, with other fields. What was
 * typed goes with it in the address, so that whatever the new page also asks for keeps its value. Long texts do not.
 */
export function keepTyped(choice: HTMLFormElement): void {
  choice.querySelectorAll("[data-kept]").forEach((field) => field.remove());
  const typed = document.querySelector<HTMLFormElement>("form[data-typed]");
  for (const field of typed?.elements ?? []) {
    if (isKept(field)) choice.append(hidden(field.name, field.value));
  }
}

function isKept(field: Element): field is HTMLInputElement | HTMLSelectElement {
  if (field instanceof HTMLSelectElement) return field.name !== "";
  if (!(field instanceof HTMLInputElement) || field.name === "" || field.type === "hidden") return false;
  return field.value !== "" && (!["checkbox", "radio"].includes(field.type) || field.checked);
}

function hidden(name: string, value: string): HTMLInputElement {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name, value });
  field.dataset["kept"] = "";
  return field;
}
