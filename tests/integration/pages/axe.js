// SPDX-License-Identifier: GPL-3.0-or-later
// Opens pages in Chromium at two widths, light and dark, and prints what axe-core finds as one JSON object; with a folder also pictures of them.
// node axe.js MODULES FOLDER-OR-EMPTY PAGE...
"use strict";
const fs = require("fs");
const path = require("path");
const [modules, pictures, ...pages] = process.argv.slice(2);
const puppeteer = require(path.join(modules, "puppeteer-core"));
const axe = fs.readFileSync(path.join(modules, "axe-core", "axe.min.js"), "utf8");

(async () => {
  const browser = await puppeteer.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
  const found = {};
  for (const file of pages) for (const width of [1280, 390]) for (const scheme of ["light", "dark"]) {
    const page = await browser.newPage();
    await page.setViewport({width, height: 900});
    await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
    await page.setBypassCSP(true); // the page itself allows no script
    await page.goto(`file://${file}`);
    await page.evaluate(axe);
    const result = await page.evaluate(() => axe.run());
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    const name = `${path.basename(file, ".html")}-${width}-${scheme}`;
    found[name] = result.violations.map((item) => `${item.id}: ${item.nodes[0].html.slice(0, 200)}`);
    if (wide) found[name].push("the page scrolls sideways");
    if (pictures) await page.screenshot({path: path.join(pictures, `${name}.png`), fullPage: true});
    await page.close();
  }
  await browser.close();
  console.log(JSON.stringify(found));
})();
