#include <gmock/gmock.h>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

using testing::HasSubstr;
using testing::Not;

ResultFile read(const SampleRun& sample) {
  auto run = read_result(to_json(sample.report));
  EXPECT_TRUE(run.has_value());
  return std::move(*run);
}

TEST(Html, begins_with_the_verdict_and_has_every_table) {
  const std::string page = to_html(read(*open_run()));
  EXPECT_THAT(page, HasSubstr("<h1>shop</h1></header>\n<div class=\"verdict fail\"><b>fail</b> (exit code 99)"));
  for (const char* heading : {"Thresholds", "Over time", "Latency", "Steps", "Each step over time",
                              "Statuses and errors", "Checks", "Workflows", "Events"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<h2>") + heading + "</h2>"));
  }
  EXPECT_THAT(page, HasSubstr("<td>browse.<wbr>pay</td>")) << "a narrow column breaks it there";
}

TEST(Html, says_what_was_loaded_how_and_when) {
  const std::string page = to_html(read(*open_run()));
  EXPECT_THAT(page, HasSubstr("<dt>Target</dt><dd>http://shop.example:8080<br>https://pay.example</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Load</dt><dd>1050/s for 10s (constant-arrival-rate, open model)</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Started</dt><dd>2026-07-01 12:00:00 UTC</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Duration</dt><dd>10.2s</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Generator</dt><dd>2 cores, 0.42 of them busy; event loop lag p99 0.08 ms</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Run</dt><dd>01J0SAMPLE</dd>"));
  EXPECT_THAT(to_html(read(*closed_run())),
              HasSubstr("<dt>Load</dt><dd>50 VUs for 2s (constant-vus, closed model)</dd>"));
  EXPECT_THAT(to_html(read(*spread_run())), HasSubstr("<dt>Generator</dt><dd>4 workers, 8 cores"));
}

TEST(Html, requests_that_were_sent_again_stand_beside_the_failed_ones) {
  const auto sample = closed_run();
  metrics::Window more({1, 1, 0});
  more.steps[0].repeated = 17;
  sample->totals->add(more);
  EXPECT_THAT(to_html(read(*sample)), HasSubstr("<td>0.00%</td><td>17</td>"));
}

TEST(Html, values_and_limits_of_thresholds_have_the_same_unit) {
  ResultFile run = read(*open_run());
  std::string page = to_html(run);
  EXPECT_THAT(page, HasSubstr("p(95) &lt; 15 ms</td><td class=\"bad\">20.2 ms</td>"));
  EXPECT_THAT(
      page,
      HasSubstr("✓ http_<wbr>req_<wbr>failed</td><td class=\"text\">rate &lt; 5%</td><td class=\"good\">1.25%</td>"));
  EXPECT_THAT(page, HasSubstr("rate &lt; 5,000/s</td><td class=\"good\">2,000/s</td>"));
  EXPECT_THAT(page, HasSubstr("avg &lt; 5 ms</td><td class=\"bad\">no samples</td>"));
  EXPECT_LT(page.find("✗ "), page.find("✓ ")) << "the failed ones first";

  run.thresholds = {{"http_req_duration", "p(95)<200", 200.004, false, 200, "ms"},
                    {"price", "p(95)>=0.5", 0.0625, false, 0.5, "EUR"},
                    {"http_reqs", "count>1000000", 17, false, 1e6, "count"},
                    {"old", "p(95)<3", 4.5, false}};
  page = to_html(run);
  EXPECT_THAT(page, HasSubstr("p(95) &lt; 200 ms</td><td class=\"bad\">200.004 ms</td>")) << "it is not its limit";
  EXPECT_THAT(page, HasSubstr("p(95) &gt;= 0.5 EUR</td><td class=\"bad\">0.0625 EUR</td>"));
  EXPECT_THAT(page, HasSubstr("count &gt; 1,000,000</td><td class=\"bad\">17</td>"));
  EXPECT_THAT(page, HasSubstr("✗ old</td><td class=\"text\">p(95)&lt;3</td><td class=\"bad\">4.5</td>"))
      << "a file without limits and units";
}

TEST(Html, names_what_failed_below_the_reason) {
  ResultFile run = read(*open_run());
  const auto head = [&] {
    const std::string page = to_html(run);
    const std::size_t begin = page.find("<p>");
    return page.substr(begin, page.find("</div>", begin) - begin);
  };
  EXPECT_EQ(head(),
            "<p>1 threshold had no samples to judge; 1 of 4 thresholds failed</p>"
            "<ul><li>http_req_duration p(95)=20.2ms, limit &lt;15ms</li></ul>");
  run.reason = "1 of 1 threshold: a p(95)=2ms, limit <1ms";
  run.failed_thresholds.clear();
  EXPECT_EQ(head(), "<p>1 of 1 threshold: a p(95)=2ms, limit &lt;1ms</p>") << "an older file";
  run.failed_thresholds.assign(100'000, "x");
  EXPECT_THAT(head(), HasSubstr("more</li></ul>"));
  EXPECT_LT(head().size(), 10'000U);
}

TEST(Html, figures_of_custom_metrics_have_their_units) {
  ResultFile run = read(*open_run());
  run.metrics = {{"took", "trend", "ms", 0, {{"count", 1200}, {"avg", 12.3456}}, {}},
                 {"price", "trend", "EUR", 0, {{"count", 2}, {"p(95)", 12.5}}, {}},
                 {"sold", "rate", "", 0, {{"rate", 0.25}, {"matches", 1}, {"total", 4}}, {}},
                 {"sent", "counter", "kB", 0, {{"count", 10}, {"rate", 2.5}}, {}},
                 {"depth", "gauge", "", 0, {{"value", 7}}, {}}};
  const std::string page = to_html(run);
  for (const char* one :
       {"<td>took</td><td class=\"text\">trend</td><td class=\"text long\">count 1,200, avg 12.3ms</td>",
        ">count 2, p(95) 12.5 EUR</td>", ">rate 25.00%, matches 1, total 4</td>", ">count 10 kB, rate 2.50 kB/s</td>",
        ">value 7</td>"}) {
    EXPECT_THAT(page, HasSubstr(one));
  }
}

TEST(Html, the_figures_at_the_top_are_eight_with_their_units) {
  const std::string page = to_html(read(*open_run()));
  const std::size_t begin = page.find("<div class=\"tiles\">");
  const std::string tiles = page.substr(begin, page.find("<section>", begin) - begin);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = tiles.find("<div><span", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 8U);
  EXPECT_THAT(tiles, HasSubstr(">Requests</span><b>20,000</b><small>500 iterations dropped</small>"));
  EXPECT_THAT(tiles, HasSubstr(">Rate</span><b>2,000/s</b><small>peak 2,000/s</small>"));
  EXPECT_THAT(tiles, HasSubstr(">Failed</span><b>1.25%</b><small>250 requests</small>"));
  EXPECT_THAT(tiles, HasSubstr(">Peak VUs</span><b>49</b>"));
  EXPECT_THAT(tiles, HasSubstr(">p50</span><b>10.9 ms</b><small>response time</small>"));
  EXPECT_THAT(tiles, HasSubstr(">Max</span><b>≥40.0 ms</b>"));
}

TEST(Html, requests_and_times_by_tag) {
  const auto run = tagged_run();
  std::string page = to_html(read(*run));
  EXPECT_THAT(page, HasSubstr("<h2>Tags</h2><p class=\"dim\">Of all steps with the tag. Latency has the times.</p>"));
  EXPECT_THAT(page, HasSubstr("<td>page:shop</td><td>20,000</td><td>2,000</td><td class=\"bad\">250</td>"));
  EXPECT_THAT(page, HasSubstr("<td>{<wbr>api:v2}</td><td class=\"text\">response</td>"));
  for (int i = 0; i < 100; ++i) run->plan.steps[0].tags.push_back({"z", std::to_string(i)});
  EXPECT_THAT(to_html(read(*run)), HasSubstr(" 3 more tags have no row."));
  EXPECT_THAT(to_html(read(*open_run())), Not(HasSubstr("<h2>Tags</h2>")));
}

TEST(Html, times_are_those_of_thresholds) {
  const std::string page = to_html(read(*closed_run()));
  EXPECT_THAT(page, HasSubstr("<small>response time</small>"));
  EXPECT_THAT(page, HasSubstr("<td>main.<wbr>get</td><td class=\"text\">response</td><td>0.23</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<td class=\"text\">service</td>")));
  EXPECT_THAT(page, HasSubstr("coordinated omission"));
  EXPECT_THAT(to_html(read(*open_run())), Not(HasSubstr("coordinated omission")));
}

TEST(Html, columns_have_standard_names_and_units) {
  const std::string page = to_html(read(*open_run()));
  EXPECT_THAT(page, HasSubstr("<th>Min <small>ms</small></th><th>Mean <small>ms</small></th><th>p50 <small>ms"));
  EXPECT_THAT(page, HasSubstr("<th>p99.9 <small>ms</small></th><th>Max <small>ms</small></th>"));
  for (const char* word : {"Least", "Longest", "Most users", "least to most"}) EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_THAT(page, HasSubstr("200 requests without a response count as slower than every response"));
}

TEST(Html, statuses_and_errors_are_counted_and_explained) {
  ResultFile run = read(*open_run());
  run.steps[0].errors.emplace_back("template", 8);
  const std::string page = to_html(run);
  EXPECT_THAT(page, HasSubstr("<td>status 200</td><td>18,850</td><td>94.25%</td>"));
  EXPECT_THAT(page,
              HasSubstr("<td>reset</td><td class=\"bad\">180</td><td>0.90%</td><td class=\"long text\">connection"));
  EXPECT_THAT(page,
              HasSubstr("<td>template</td><td class=\"bad\">8</td><td>0.04%</td><td class=\"long text\">a value "));
  EXPECT_LT(page.find("<td>status 200"), page.find("<td>status 304")) << "the most frequent first";
  EXPECT_LT(page.find("<td>status 304"), page.find("<td>reset"));
  EXPECT_THAT(page, HasSubstr("<td>browse.<wbr>pay</td><td class=\"text bad\">reset</td><td>90</td><td>0.90%</td>"));
}

TEST(Html, the_latency_distribution_is_drawn) {
  const std::string page = to_html(read(*open_run()));
  EXPECT_THAT(page, HasSubstr("<b>Fraction of requests, %, by time, ms, log scale</b>"));
  EXPECT_THAT(page, HasSubstr("<b>Time, ms, by percentile, log scales</b>"));
}

TEST(Html, each_of_several_steps_has_charts) {
  const std::string page = to_html(read(*open_run()));
  for (const char* title : {"browse.list: response time, ms", "browse.pay: requests per second"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<b>") + title + "</b>"));
  }
  EXPECT_THAT(page, HasSubstr("data-of=\"2\""));
  EXPECT_THAT(to_html(read(*closed_run())), Not(HasSubstr("Each step over time"))) << "the charts of the run show it";
  ResultFile many = read(*open_run());
  for (int i = 0; i < 30; ++i) {
    ResultStep step;
    step.name = "more." + std::to_string(i);
    step.series = many.steps[0].series;
    many.steps.push_back(std::move(step));
  }
  EXPECT_THAT(to_html(many), HasSubstr("The first 24 steps are shown; 8 more are in the result file."));
}

TEST(Html, a_short_rest_at_the_end_shares_no_point) {
  ResultFile run = read(*open_run());
  ResultPoint rest = run.series.back();
  rest.t += rest.covered_s;
  rest.covered_s = 0.01;
  run.series.push_back(rest);
  EXPECT_THAT(to_html(run), HasSubstr("All steps together, one point a second."));
}

TEST(Html, the_name_of_a_step_breaks_beside_its_check) {
  ResultFile run = read(*open_run());
  ASSERT_FALSE(run.checks.empty());
  run.checks[0].step = "browse.pay";
  EXPECT_THAT(to_html(run), HasSubstr("<td class=\"text name\">browse.<wbr>pay</td>"));
}

TEST(Html, an_unconfirmed_run_is_marked) {
  const std::string page = to_html(read(*unconfirmed_run()));
  EXPECT_THAT(page,
              HasSubstr("<b>inconclusive, unconfirmed</b> (exit code 120)<p>unconfirmed: no manager answers</p>"));
  EXPECT_THAT(to_html(read(*spread_run())), HasSubstr("<b>inconclusive</b>"));
}

TEST(Html, what_was_lost_and_who_lost_it_are_told) {
  const std::string page = to_html(read(*spread_run()));
  EXPECT_THAT(page, HasSubstr("worker w2 died"));
  EXPECT_THAT(page, HasSubstr("<td class=\"text bad\">lost</td>"));
  EXPECT_THAT(page, HasSubstr("Red: figures are missing."));
}

TEST(Html, the_scenarios_own_metrics_have_charts_of_their_own) {
  const std::string page = to_html(read(*measured_run()));
  EXPECT_THAT(page, HasSubstr("<h2>Custom metrics over time</h2>"));
  EXPECT_THAT(page, HasSubstr("<b>orders per second</b>"));
  EXPECT_THAT(page, HasSubstr("data-kind=\"share\" data-metric=\"2\""));
  EXPECT_THAT(page, HasSubstr("],M=[[["));
  EXPECT_THAT(page, Not(HasSubstr("more are in the result file")));
  const std::string without = to_html(read(*open_run()));
  EXPECT_THAT(without, Not(HasSubstr("Custom metrics")));
  EXPECT_THAT(without, HasSubstr("],M=[];"));
}

TEST(Html, requests_that_were_not_sent_have_no_times) {
  ResultFile run = read(*closed_run());
  run.steps[0].response.clear();
  run.steps[0].response.unanswered.record(Duration::zero(), 60);
  const std::string page = to_html(run);
  EXPECT_THAT(page, HasSubstr("<td>main.<wbr>get</td><td class=\"text\">response</td><td>-</td><td>-</td><td>-</td>"));
  EXPECT_THAT(page, HasSubstr(">p50</span><b>-</b>"));
  EXPECT_THAT(page, Not(HasSubstr("≥0<")));
}

TEST(Html, a_chart_that_takes_keys_is_no_image_for_a_screen_reader) {
  const std::string page = to_html(read(*open_run()));
  const std::size_t script = page.find("s.setAttribute(\"role\",\"application\")");
  ASSERT_NE(script, std::string::npos);
  EXPECT_GT(script, page.find("<script>")) << "without the script it takes no keys, and is an image";
  EXPECT_THAT(page, HasSubstr("role=\"img\" aria-label=\"Requests per second\""));
  EXPECT_THAT(page, HasSubstr("\"aria-keyshortcuts\",\"ArrowLeft ArrowRight Home End\""));
}

TEST(Html, asks_nobody_for_anything) {
  const std::string page = to_html(read(*spread_run()));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* way : {"src=", "href=", "url(", "@import", "fetch(", "XMLHttp", "http-equiv=\"refresh"})
    EXPECT_THAT(page, Not(HasSubstr(way)));
}

TEST(Html, nothing_from_outside_becomes_markup_or_script) {
  ResultFile run = read(*open_run());
  const std::string evil = "</title></script><script>alert('x')</script><img src=x onerror=\"y\">";
  run.id = run.scenario = run.started_at = run.verdict = run.reason = evil;
  run.saturated = true;
  run.saturation = run.remedy = evil;
  run.targets = run.failed_thresholds = {evil};
  for (ResultStep& step : run.steps) {
    step.name = evil;
    step.status.emplace_back(evil, 1);
    step.errors.emplace_back(evil, 1);
  }
  for (ResultWorkflow& one : run.workflows) {
    one.name = one.status = one.skipped_because = one.executor = one.load = evil;
  }
  for (ResultCheck& one : run.checks) one.name = one.step = evil;
  for (ResultThreshold& one : run.thresholds) one.metric = one.expression = one.unit = evil;
  for (ResultEvent& one : run.events) one.kind = one.detail = evil;
  run.metrics.push_back({evil, "gauge", evil, 0, {}, {{.t = 0, .value = 1, .least = 1, .greatest = 1}}});
  run.lost.push_back({0, 1, 1, evil});
  run.workers.push_back({evil, 1, 1, evil});
  run.workflows.push_back(run.workflows[0]);
  const std::string page = to_html(run);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("onerror=\"")));
}

TEST(Html, an_hour_with_fifty_steps_and_a_hundred_metrics_stays_below_three_megabytes) {
  const ResultFile small = read(*open_run());
  ResultFile run = read(*open_run());
  run.steps.clear();
  run.series.clear();
  for (int s = 0; s < 50; ++s) {
    ResultStep step;
    step.name = "workflow.step number " + std::to_string(s);
    step.response.merge(small.steps[0].response);
    step.service.merge(small.steps[0].service);
    for (int status = 200; status < 220; ++status) step.status.emplace_back(std::to_string(status), 1);
    for (int t = 0; t < 120; ++t) {
      ResultPoint point = small.steps[0].series[0];
      point.t = 30 * t;
      point.rate_per_s = 12'345.678 + t;
      step.series.push_back(point);
    }
    run.steps.push_back(std::move(step));
  }
  for (int t = 0; t < 3'600; ++t) {
    ResultPoint point = small.series[0];
    point.t = t;
    point.rate_per_s = 12'345.678 + t;
    run.series.push_back(point);
  }
  for (const std::string kind : {"counter", "gauge", "rate", "trend"}) {
    for (int m = 0; m < 25; ++m) {
      ResultMetric metric{kind + std::to_string(m), kind, "unit", 0, {}, {}};
      for (int t = 0; t < 3'600; ++t) {
        const double value = 12'345.678 + t;
        metric.series.push_back(
            {static_cast<double>(t), value, value, 5, 10, value, value - 1, value + 1, value, value});
      }
      run.metrics.push_back(std::move(metric));
    }
  }
  const std::string page = to_html(run);
  EXPECT_LT(page.size(), std::size_t{3} << 20);
  EXPECT_THAT(page, HasSubstr("The first 24 metrics are shown; 76 more are in the result file and in the csv report."));
}

}  // namespace
}  // namespace bellwether::report
