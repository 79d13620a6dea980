import { defineConfig } from "vitest/config";

// A browser on a loaded machine is slow; nothing here is judged by its time.
export default defineConfig({ test: { environment: "node", testTimeout: 180_000, hookTimeout: 400_000, fileParallelism: false } });
