// The parts of every HTML report that know nothing of the run: its style, the script that displays figures under a
// pointer or with the arrow keys, and its tables.
#pragma once

#include <cstddef>
#include <fmt/core.h>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "load/report/text.h"

namespace bellwether::report {

// Not obvious in it: `output` keeps a line of its own, so that a chart does not move under the pointer when figures
// appear. The shade at the right of `.wide` shows that the table goes on there; its first layer hides it at the end of
// the scroll. The keys of a legend are borders, because browsers print no backgrounds.
inline constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--back:#fff;--card:#f5f7f9;--ink:#1b2430;--dim:#586472;--rule:#dde2e8;--good:#0f7b3f;
--bad:#c0262d;--warn:#8a5a08;--blue:#1f6feb;--teal:#0d8a8a;--amber:#b7730b;--red:#c0262d;--violet:#7b4bd1}
@media screen and (prefers-color-scheme:dark){:root{--back:#12161c;--card:#1a2029;--ink:#e4e9ef;--dim:#9aa6b3;
--rule:#2d3642;--good:#4cc780;--bad:#ff7b72;--warn:#e3b341;
--blue:#6cb0ff;--teal:#4fd0cf;--amber:#f0b040;--red:#ff7b72;--violet:#b58cff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:24px 20px;background:var(--back);color:var(--ink);
font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:break-word}
h1{font-size:26px;line-height:1.2;margin:2px 0 16px;overflow-wrap:anywhere}
h2{font-size:18px;margin:34px 0 8px}p{margin:4px 0}.dim,small{color:var(--dim)}small{font-size:12px;font-weight:400}
.verdict{border-left:6px solid var(--warn);background:var(--card);padding:12px 16px;border-radius:6px;margin:14px 0}
.verdict b{font-size:20px;text-transform:uppercase;letter-spacing:.04em;color:var(--warn)}
.verdict.pass{border-color:var(--good)}.verdict.pass b{color:var(--good)}
.verdict.fail{border-color:var(--bad)}.verdict.fail b{color:var(--bad)}
.verdict ul{margin:6px 0 0;padding-left:18px}
.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 18px;margin:16px 0 20px}
.facts dt{color:var(--dim)}.facts dd{margin:0;overflow-wrap:anywhere}
.tiles{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:10px}
.tiles div{background:var(--card);border-radius:6px;padding:10px 12px}
.tiles b,.tiles small{display:block}.tiles b{font-size:21px;line-height:1.3;font-variant-numeric:tabular-nums}
.tiles span{font-size:13px}
.charts{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:14px;margin:8px 0}
figure{margin:0;background:var(--card);border-radius:6px;padding:10px;break-inside:avoid;min-width:0;
display:flex;flex-direction:column;justify-content:space-between}
figcaption{display:flex;flex-wrap:wrap;gap:2px 12px;font-size:13px}figcaption b{overflow-wrap:anywhere}
output{color:var(--dim);flex-basis:100%;min-height:1.45em;margin-bottom:-2px;
text-align:right;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto;overflow:visible;touch-action:pan-y}svg text{font-size:11.5px;fill:var(--dim)}
.grid{stroke:var(--rule)}.line{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round;
vector-effect:non-scaling-stroke}.dots{stroke-width:5}
.band{fill:var(--c);opacity:.2}.key::before{content:"";display:inline-block;width:14px;border-top:3px solid var(--c);
vertical-align:middle;margin-right:5px}.key.soft::before{border-width:9px 0 0;opacity:.3}
.rate{--c:var(--blue)}.p50{--c:var(--teal)}.p95{--c:var(--amber)}.p99{--c:var(--red)}.failed{--c:var(--red)}
.vus{--c:var(--violet)}.share{--c:var(--teal)}.lost{fill:var(--bad);opacity:.16}
.event line{stroke:var(--dim);stroke-dasharray:3 3}.cursor{stroke:var(--dim)}.cursor[x1="-9"]{display:none}
.wide{overflow-x:auto;background:linear-gradient(90deg,transparent,var(--back) 60%) right/48px 100% no-repeat local,
linear-gradient(90deg,transparent,var(--rule)) right/20px 100% no-repeat}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:6px 9px;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--dim);font-weight:600}th:first-child,td:first-child,td.text,th.text{text-align:left}
th:first-child,td:first-child{position:sticky;left:0;background:var(--back)}
td:first-child,td.name,td.long{white-space:normal;overflow-wrap:anywhere;min-width:10em}
td.long:not(:empty){min-width:18em}
td.good,.verdict .good{color:var(--good)}td.bad{color:var(--bad)}td.warn,p.warn{color:var(--warn)}
footer{margin-top:34px;color:var(--dim);font-size:13px}
@media(max-width:900px){.charts{grid-template-columns:minmax(0,1fr)}
table{font-size:13px}th,td{padding:6px 5px}td.long:not(:empty){min-width:14em}}
@media(max-width:600px){body{padding:16px}h1{font-size:22px}svg text{font-size:19px}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.tiles b{font-size:19px}
th,td{padding:6px 4px}td:first-child,td.name{min-width:8em}
.facts{grid-template-columns:minmax(0,1fr);gap:0}.facts dd{margin-bottom:8px}}
@media print{:root{color-scheme:light}body{max-width:none;padding:0 1px;font-size:11px}h1{font-size:20px}
h2{font-size:14px;margin-top:20px}h2,h2+p{break-after:avoid}figcaption,small,.tiles span,footer{font-size:10px}
svg text{font-size:16px}.wide{overflow:visible;background:none}table{font-size:9px}th,td{padding:2px 4px}
th small{font-size:8px}th:first-child,td:first-child{position:static}td:first-child,td.name{min-width:0}
td.long:not(:empty){min-width:10em}.tiles{grid-template-columns:repeat(4,minmax(0,1fr))}.tiles b{font-size:15px}
.charts{grid-template-columns:repeat(2,minmax(0,1fr))}output{display:none}
tr,.verdict,.tiles,.facts{break-inside:avoid}figure,.tiles div,.verdict{border:1px solid var(--rule)}
.verdict{border-left-width:6px}}
)css";

// D is a list of lists of columns, as load/report/chart.h writes them: that of the run, and one for each step with
// charts. M has the values of each custom metric in the columns of the run (load/report/metric_charts.h). The numbers
// 58, 530 and 600 are the margin and the widths of load/report/chart.h. Without the script a chart is an image; with
// it, a control: `at` is the column that the keys have reached, which a pointer that passes does not change.
inline constexpr std::string_view kScript = R"js(
const f=v=>Math.abs(v)>=1000?Math.round(v).toLocaleString("en"):String(+v.toPrecision(3));
const span=v=>v[1]!==v[2]?" ("+f(v[1])+" to "+f(v[2])+")":"";
const say={rate:c=>f(c[2])+"/s"+(c[3]!==c[4]?" ("+f(c[3])+" to "+f(c[4])+")":""),
failed:c=>f(c[5])+"/s"+(c[5]!==c[6]?", max "+f(c[6])+"/s":""),step:c=>f(c[2])+"/s, failed "+f(c[5])+"/s",
vus:c=>String(c[7]),times:c=>c.length>8?"p50 "+f(c[8])+", p95 "+f(c[9])+", p99 "+f(c[10])+" ms":"none",
counter:v=>f(v[0])+"/s"+span(v),gauge:v=>f(v[0])+span(v),share:v=>f(v[0])+"% of "+f(v[1]),
trend:v=>"p50 "+f(v[0])+", p95 "+f(v[1])};
for(const s of document.querySelectorAll("svg[data-kind]")){
const length=s.dataset.length/1000,line=s.querySelector(".cursor"),C=D[s.dataset.of||0],own=s.dataset.metric,
out=s.parentNode.querySelector("output"),last=C.length-1;let at=-1;
const put=(x,text)=>{line.setAttribute("x1",x);line.setAttribute("x2",x);out.textContent=text;};
const show=i=>{const c=C[i],v=own?M[own][i]:c;
put(58+530*(c[0]+c[1])/2/length,f(c[0])+" s: "+(v?say[s.dataset.kind](v):"none"));};
const under=e=>{const b=s.getBoundingClientRect(),x=(e.clientX-b.left)/b.width*600;
const t=(x-58)/530*length,n=C.findIndex(c=>t<c[1]);return n<0?last:n;};
s.addEventListener("pointermove",e=>show(under(e)));s.addEventListener("pointerdown",e=>show(at=under(e)));
s.addEventListener("pointerleave",e=>{if(e.pointerType==="touch")return;
if(at>=0&&document.activeElement===s)show(at);else put(-9,"");});
s.addEventListener("blur",()=>put(-9,""));
s.tabIndex=0;s.setAttribute("role","application");s.setAttribute("aria-roledescription","chart");
s.setAttribute("aria-keyshortcuts","ArrowLeft ArrowRight Home End");
s.addEventListener("keydown",e=>{const to={ArrowLeft:at-1,ArrowRight:at+1,Home:0,End:last}[e.key];
if(to!==undefined&&!e.altKey&&!e.ctrlKey&&!e.metaKey){e.preventDefault();show(at=Math.max(0,Math.min(last,to)));}});}
)js";

// A table that grows row by row. Cells are text, escaped here.
class Table {
 public:
  static constexpr std::size_t kMaxRows = 2'000;
  struct Cell {
    std::string text;
    std::string look = {};  // classes of the style
    std::string unit = {};
  };
  explicit Table(const std::vector<Cell>& heads) : heads_(row("th", heads)) {}
  void add(const std::vector<Cell>& cells) {
    if (++rows_ <= kMaxRows) text_ += row("td", cells);
  }
  // Nothing for a table without rows.
  std::string text() const {
    if (rows_ == 0) return {};
    std::string out =
        fmt::format("<div class=\"wide\"><table><thead>{}</thead><tbody>{}</tbody></table></div>\n", heads_, text_);
    if (rows_ > kMaxRows)
      out += fmt::format("<p class=\"dim\">{} more rows are left out.</p>", format_count(rows_ - kMaxRows));
    return out;
  }

 private:
  // A narrow column breaks the names in it behind punctuation rather than anywhere.
  static std::string breakable(const std::string& text) {
    std::string out;
    for (const char c : text) {
      out += c;
      if (c == '.' || c == '{' || c == '/' || c == '_') out += "<wbr>";
    }
    return out;
  }
  static std::string row(const std::string& tag, const std::vector<Cell>& cells) {
    std::string out = "<tr>";
    for (const Cell& cell : cells) {
      const std::string look = cell.look.empty() ? "" : fmt::format(" class=\"{}\"", cell.look);
      const std::string unit = cell.unit.empty() ? "" : fmt::format(" <small>{}</small>", cell.unit);
      const bool name = &cell == cells.data() || cell.look == "text name";
      const std::string text = name ? breakable(escaped(cell.text)) : escaped(cell.text);
      out += fmt::format("<{0}{1}>{2}{3}</{0}>", tag, look, text, unit);
    }
    return out + "</tr>\n";
  }
  std::string heads_;
  std::string text_;
  std::size_t rows_ = 0;
};

}  // namespace bellwether::report
