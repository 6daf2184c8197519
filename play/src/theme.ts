// Whether it is dark: as the notebook around the page says, or the system.

const SAID = ["data-jp-theme-light", "class"]; // by JupyterLab, and by marimo

/** Tell it now, and whenever it changes; what is returned ends that. */
export function followTheme(tell: (isDark: boolean) => void): () => void {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const look = () => tell(isNotebookDark() ?? query.matches);
  const watch = new MutationObserver(look);
  const places = [document.documentElement, document.body];
  places.forEach((place) => watch.observe(place, { attributeFilter: SAID }));
  query.addEventListener("change", look);
  look();
  return () => {
    query.removeEventListener("change", look);
    watch.disconnect();
  };
}

function isNotebookDark(): boolean | null {
  const { jpThemeLight } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "false";
  for (const place of [document.body, document.documentElement]) {
    if (place.classList.contains("dark")) return true;
    if (place.classList.contains("light")) return false;
  }
  return null;
}
