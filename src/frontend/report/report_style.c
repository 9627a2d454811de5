/*
 * report_style.c
 *		How a report looks.
 *
 * The colours of the tables, c0 to c6 and grey, differ in every pair for all
 * common kinds of colour vision, on the light page and on the dark one (by 11
 * or more in OKLab times 100, simulated after Machado et al., 2009); t0 to t7
 * are colours of text on them.
 */
#include "base/fe_compat.h"

#include "report/report_style.h"

/* Values for light, for dark, and for paper, which is light. */
#define LIGHT \
	"--page:#fff;--ink:#1b2027;--soft:#5d6773;--line:#dfe3e8;--lane:#f1f3f5;" \
	"--good:#0a7a4b;--good-page:#eaf6f0;--bad:#b3261e;--bad-page:#fcecea;" \
	"--raw:#cfdcf5;--stored:#355abb;--shade:#1b202759;" \
	"--c0:#355abb;--c1:#c75900;--c2:#008d72;--c3:#794542;--c4:#299efd;" \
	"--c5:#db64ba;--c6:#d2a614;--c7:#b4bcc6;" \
	"--t0:#fff;--t1:#fff;--t2:#fff;--t3:#fff;--t4:#10151b;--t5:#10151b;" \
	"--t6:#10151b;--t7:#10151b;color-scheme:light;"
#define DARK \
	"--page:#14181d;--ink:#e4e8ed;--soft:#9aa5b1;--line:#2d343d;--lane:#1c2128;" \
	"--good:#58c795;--good-page:#14281f;--bad:#f28b82;--bad-page:#321a1a;" \
	"--raw:#2b3c5c;--stored:#6aa5ee;--shade:#e4e8ed59;" \
	"--c0:#419ef0;--c1:#f6865e;--c2:#68ebb3;--c3:#a57012;--c4:#b0c8fe;" \
	"--c5:#aa7aa3;--c6:#f2c847;--c7:#59636f;" \
	"--t0:#10151b;--t1:#10151b;--t2:#10151b;--t3:#fff;--t4:#10151b;" \
	"--t5:#10151b;--t6:#10151b;--t7:#fff;color-scheme:dark;"

const char *const report_style =
":root{" LIGHT "}\n"
"@media screen and (prefers-color-scheme:dark){:root{" DARK "}}\n"
"*{box-sizing:border-box}\n"
"html{-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
"body{margin:0;background:var(--page);color:var(--ink);"
"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif}\n"
"main{max-width:1124px;margin:0 auto;padding:40px 32px 56px}\n"
"h1{font-size:28px;line-height:1.25;font-weight:650;margin:0;overflow-wrap:anywhere}\n"
"h2{font-size:18px;line-height:1.3;font-weight:650;margin:0 0 4px}\n"
"p{margin:0 0 12px;max-width:80ch}\n"
"section{margin-top:44px}\n"
".kind{font-size:13px;letter-spacing:.02em;color:var(--soft);margin:0 0 4px}\n"
".soft,.sub,footer{color:var(--soft)}\n"
".sub{margin:6px 0 0}\n"
"bdi{overflow-wrap:anywhere}\n"
"code{white-space:nowrap}\n"

/* The verdict of --verify, and figures */
".verdict{margin:24px 0 0;padding:12px 16px;border-left:4px solid var(--line);"
"background:var(--lane);border-radius:4px;max-width:none}\n"
".verdict b{font-weight:650}\n"
".good{border-color:var(--good);background:var(--good-page)}\n"
".good b{color:var(--good)}\n"
".bad{border-color:var(--bad);background:var(--bad-page)}\n"
".bad b{color:var(--bad)}\n"
".findings{margin:12px 0 0;padding-left:20px;font-size:14px;overflow-wrap:anywhere}\n"
".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));"
"gap:24px 28px;margin:32px 0 0}\n"
".figures div{border-top:1px solid var(--line);padding-top:10px}\n"
".figures dt{font-size:13px;color:var(--soft)}\n"
".figures dd{margin:0;font-size:13px;color:var(--soft)}\n"
".figures dd.value{font-size:22px;line-height:1.4;white-space:nowrap;font-weight:600;color:var(--ink);"
"font-variant-numeric:tabular-nums}\n"

/* Charts */
".chart{overflow-x:auto;margin-top:16px}\n"
".chart svg{display:block;width:100%;min-width:640px;height:auto;"
"font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif;"
"font-variant-numeric:tabular-nums}\n"
".chart text{fill:var(--soft)}\n"
".mid{text-anchor:middle}.end{text-anchor:end}\n"
".grid{stroke:var(--line);stroke-width:1;fill:none;shape-rendering:crispEdges}\n"
".lane{fill:var(--lane)}\n"
".raw{fill:var(--raw)}.stored{fill:var(--stored)}.chart .ink{fill:var(--ink)}\n"
".c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}"
".c4{fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}\n"
/* a halo hides the seams between files behind a name */
".chart .name{paint-order:stroke;stroke-width:5px;stroke-linejoin:round}\n"
".chart .t0{fill:var(--t0);stroke:var(--c0)}"
".chart .t1{fill:var(--t1);stroke:var(--c1)}\n"
".chart .t2{fill:var(--t2);stroke:var(--c2)}"
".chart .t3{fill:var(--t3);stroke:var(--c3)}\n"
".chart .t4{fill:var(--t4);stroke:var(--c4)}"
".chart .t5{fill:var(--t5);stroke:var(--c5)}\n"
".chart .t6{fill:var(--t6);stroke:var(--c6)}"
".chart .t7{fill:var(--t7);stroke:var(--c7)}\n"
"svg text{pointer-events:none}\n"
".legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;margin:14px 0 0;"
"padding:0;font-size:14px}\n"
".swatch{width:11px;height:11px;margin-right:7px;vertical-align:-1px}\n"

/* Tables */
".wide{overflow-x:auto;margin-top:12px}\n"
/* a shadow at each edge beyond which there is more: the page's colour, which
 * moves with what is within, covers it where there is no more */
".wide,.chart{background:linear-gradient(to right,var(--page) 50%,transparent) 0 0/48px 100% no-repeat local,"
"linear-gradient(to left,var(--page) 50%,transparent) 100% 0/48px 100% no-repeat local,"
"linear-gradient(to right,var(--shade),transparent) 0 0/16px 100% no-repeat scroll,"
"linear-gradient(to left,var(--shade),transparent) 100% 0/16px 100% no-repeat scroll}\n"
"table{border-collapse:collapse;width:100%;font-size:14px}\n"
"th,td{text-align:left;vertical-align:top;padding:6px 14px 6px 0;"
"border-bottom:1px solid var(--line);font-weight:400}\n"
"thead th{font-size:13px;color:var(--soft);vertical-align:bottom}\n"
"tbody th{min-width:12em}\n"
"tbody th .soft{padding-left:18px;font-size:13px}\n"
".num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
".sum th,.sum td{color:var(--soft)}\n"
".sum:last-child th,.sum:last-child td{color:var(--ink);font-weight:600}\n"
".bar{width:20%;min-width:120px;padding-right:0}\n"
".bar svg{display:block;width:100%;height:10px;margin-top:6px}\n"
".whole{fill:var(--raw)}.kept{fill:var(--stored)}\n"
".whole-of th,.whole-of td{border-bottom:0}\n"
".parts>td{padding:0 0 6px 18px}\n"
/* a share of an unknown width would make the table as wide as can be */
".parts table td:last-child,.parts thead th:last-child{display:none}\n"
"summary{cursor:pointer;color:var(--soft);font-size:13px}\n"
".hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}\n"
".facts{display:grid;grid-template-columns:max-content 1fr;gap:4px 24px;margin:12px 0 0;"
"font-size:14px}\n"
".facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}\n"
"footer{margin-top:48px;padding-top:14px;border-top:1px solid var(--line);font-size:13px}\n"
"@media (max-width:600px){main{padding:24px 16px 40px}h1{font-size:23px}"
".facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:8px}}\n"
/*
 * there both are always wider than the screen; text in charts stays legible
 */
"@media screen and (max-width:600px){.chart svg{min-width:960px}"
".chart::before,.wide::before{content:'\\2194  scroll sideways';display:block;position:sticky;left:0;"
"width:max-content;font-size:13px;color:var(--soft);margin-bottom:4px}}\n"
"@media print{@page{size:A4;margin:14mm}body{font-size:11px}main{max-width:none;padding:0}"
".screen{display:none}h1{font-size:20px}h2{font-size:14px}.kind,.figures dt,.figures dd{font-size:10px}"
"*{-webkit-print-color-adjust:exact;print-color-adjust:exact}"
"section{margin-top:24px}.chart,.figures div,tr,.verdict{break-inside:avoid}"
"h2,h2+p{break-after:avoid}.wide,.chart{overflow:visible;background:none}.chart svg{min-width:0}"
"table,.facts,.legend,thead th{font-size:10px}th,td{padding:3px 10px 3px 0}.bar svg{margin-top:3px}"
"tbody th .soft{font-size:9px;padding-left:15px}.swatch{width:8px;height:8px}"
".figures{grid-template-columns:repeat(auto-fit,minmax(90px,1fr));gap:14px}.figures dd.value{font-size:15px}}\n";
