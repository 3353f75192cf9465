// What stands in every HTML report as it is: its style, and the script that reads figures out under a pointer.
#pragma once

#include <string_view>

namespace bellwether::report {

inline constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--ink:#1b2430;--dim:#5c6773;--rule:#dde2e8;--good:#0f7b3f;
--bad:#c0262d;--warn:#94600a;--blue:#1f6feb;--teal:#0d8a8a;--amber:#b7730b;--red:#c0262d;--violet:#7b4bd1}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--card:#1a2029;--ink:#e4e9ef;--dim:#98a4b1;--rule:#2d3642;
--good:#4cc780;--bad:#ff7b72;--warn:#e3b341;
--blue:#6cb0ff;--teal:#4fd0cf;--amber:#f0b040;--red:#ff7b72;--violet:#b58cff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:20px;background:var(--back);color:var(--ink);
font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:24px;margin:0 0 4px}h2{font-size:17px;margin:30px 0 8px}p{margin:4px 0}.dim{color:var(--dim)}
.verdict{border-left:6px solid var(--warn);background:var(--card);padding:12px 16px;border-radius:6px;margin:14px 0}
.verdict b{font-size:19px;text-transform:uppercase;letter-spacing:.04em;color:var(--warn)}
.verdict.pass{border-color:var(--good)}.verdict.pass b{color:var(--good)}
.verdict.fail{border-color:var(--bad)}.verdict.fail b{color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px}
.tiles div{background:var(--card);border-radius:6px;padding:10px 12px}
.tiles b{display:block;font-size:20px;font-variant-numeric:tabular-nums}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:14px}
figure{margin:0;background:var(--card);border-radius:6px;padding:10px;break-inside:avoid}
figcaption{display:flex;flex-wrap:wrap;gap:2px 12px;font-size:13px}
output{color:var(--dim);margin-left:auto;min-height:1.45em;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto;touch-action:pan-y}svg text{font-size:11px;fill:var(--dim)}
.grid{stroke:var(--rule)}.line{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.dots{stroke-width:5}
.band{fill:var(--c);opacity:.2}.key::before{content:"";display:inline-block;width:14px;height:3px;background:var(--c);
vertical-align:middle;margin-right:5px}.key.soft::before{height:9px;opacity:.3}
.rate{--c:var(--blue)}.p50{--c:var(--teal)}.p95{--c:var(--amber)}.p99{--c:var(--red)}.failed{--c:var(--red)}
.vus{--c:var(--violet)}.share{--c:var(--teal)}.lost{fill:var(--bad);opacity:.16}
.event line{stroke:var(--dim);stroke-dasharray:3 3}
.cursor{stroke:var(--dim)}@media(max-width:600px){svg text{font-size:17px}}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 8px;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--dim);font-weight:600}th:first-child,td:first-child,td.text,th.text{text-align:left;white-space:normal}
td:first-child{min-width:9em}.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
footer{margin-top:30px;color:var(--dim);font-size:13px}
@media print{body{max-width:none;padding:0;font-size:11px}.wide{overflow:visible}
table{font-size:9px}th,td{padding:2px 4px}
.charts{grid-template-columns:1fr 1fr}output{display:none}tr,.verdict,.tiles{break-inside:avoid}}
)css";

// C is the list of columns, as report/charts.h writes it; M what each metric shows in them (report/metric_charts.h).
inline constexpr std::string_view kScript = R"js(
const f=v=>Math.abs(v)>=1000?Math.round(v).toLocaleString("en"):String(+v.toPrecision(3));
const span=v=>v[1]!==v[2]?" ("+f(v[1])+" to "+f(v[2])+")":"";
const say={rate:c=>f(c[2])+"/s"+(c[3]!==c[4]?" ("+f(c[3])+" to "+f(c[4])+")":""),failed:c=>f(c[5])+"/s, most "+f(c[6]),
vus:c=>String(c[7]),times:c=>c.length>8?"p50 "+f(c[8])+", p95 "+f(c[9])+", p99 "+f(c[10]):"none",
counter:v=>f(v[0])+"/s"+span(v),gauge:v=>f(v[0])+span(v),share:v=>f(v[0])+"% of "+f(v[1]),
trend:v=>"p50 "+f(v[0])+", p95 "+f(v[1])};
for(const s of document.querySelectorAll("svg[data-kind]")){
const length=s.dataset.length/1000,line=s.querySelector(".cursor"),
out=s.parentNode.querySelector("output");
s.addEventListener("pointermove",e=>{const b=s.getBoundingClientRect(),x=(e.clientX-b.left)/b.width*720;
const t=(x-58)/650*length,n=C.findIndex(c=>t<c[1]),i=n<0?C.length-1:n,c=C[i];
const own=s.dataset.metric,v=own?M[own][i]:c;
const at=58+650*(c[0]+c[1])/2/length;line.setAttribute("x1",at);line.setAttribute("x2",at);
out.textContent=f(c[0])+" s: "+(v?say[s.dataset.kind](v):"none");});
s.addEventListener("pointerleave",()=>{line.setAttribute("x1",-9);line.setAttribute("x2",-9);out.textContent="";});}
)js";

}  // namespace bellwether::report
