import { defineConfig } from "vite";

// The bundle is committed inside the package, because a fresh clone needs python3 only. One script
// serves the page, the recorded figures and the notebook widget, so its exports are kept.
export default defineConfig({
  publicDir: "public",
  build: {
    outDir: "../src/maxmargin/play/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: "src/main.tsx",
      preserveEntrySignatures: "strict",
      output: {
        format: "es",
        entryFileNames: "page.js",
        assetFileNames: "page.[ext]",
        codeSplitting: false,
      },
    },
  },
});
