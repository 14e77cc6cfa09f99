(function () {
  "use strict";
  var plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  var compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  var height = 300;

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function tick(v) {
    if (v === null || v === undefined) { return ""; }
    return Math.abs(v) >= 10000 ? compact.format(v) : plain.format(v);
  }

  function withUnit(axis) {
    return function (u, v) {
      if (v === null || v === undefined) { return "–"; }
      return (Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en") : plain.format(v)) + (axis.unit ? " " + axis.unit : "");
    };
  }

  function axisOptions(axis, vertical) {
    return {
      label: axis.label + (axis.unit ? " (" + axis.unit + ")" : ""),
      labelSize: 26,
      labelFont: "12px system-ui, sans-serif",
      font: "12px system-ui, sans-serif",
      size: vertical ? 62 : 44,
      stroke: color("--soft"),
      grid: { stroke: color("--grid"), width: 1 },
      ticks: { stroke: color("--grid"), width: 1, size: 5 },
      values: function (u, splits) { return splits.map(tick); }
    };
  }

  function scale(axis, vertical) {
    if (axis.log) { return { time: false, distr: 3, log: axis.log }; }
    if (!vertical) { return { time: false }; }
    // A level means little without its distance from zero.
    return { range: function (u, low, high) {
      if (low === null || high === null) { return [0, 1]; }
      return uPlot.rangeNum(Math.min(0, low), high > 0 ? high : 1, { min: { pad: 0 }, max: { pad: 0.08 } });
    } };
  }

  function shade(bands) {
    return function (u) {
      var c = u.ctx, ratio = devicePixelRatio, box = u.bbox;
      c.save();
      bands.forEach(function (b) {
        var from = Math.max(box.left, u.valToPos(b.from, "x", true));
        var to = Math.min(box.left + box.width, u.valToPos(b.to, "x", true));
        if (to <= from) { return; }
        c.fillStyle = color("--band");
        c.fillRect(from, box.top, to - from, box.height);
        c.fillStyle = color("--band-ink");
        c.font = 12 * ratio + "px system-ui, sans-serif";
        c.textBaseline = "top";
        c.fillText(b.label, from + 6 * ratio, box.top + 5 * ratio);
      });
      c.restore();
    };
  }

  function lines(data, canvas) {
    var series = [{ label: data.xAxis.label, value: withUnit(data.xAxis) }];
    data.series.forEach(function (s, i) {
      var stroke = color("--s" + (i % 8 + 1));
      series.push({
        label: s.name,
        value: withUnit(data.yAxis),
        stroke: stroke,
        width: s.dashed ? 1.5 : 2,
        dash: s.dashed ? [6, 5] : undefined,
        paths: s.step ? uPlot.paths.stepped({ align: -1 }) : undefined,
        points: { show: !s.dashed && data.x.length <= 40, size: 6, fill: stroke, stroke: stroke },
        spanGaps: false
      });
    });
    return new uPlot({
      width: canvas.clientWidth,
      height: height,
      padding: [12, 24, 0, 0],
      legend: { markers: { fill: function (u, i) { return u.series[i].stroke(u, i); } } },
      cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: scale(data.xAxis, false), y: scale(data.yAxis, true) },
      axes: [axisOptions(data.xAxis, false), axisOptions(data.yAxis, true)],
      series: series,
      hooks: { drawClear: [shade(data.bands)] }
    }, [data.x].concat(data.series.map(function (s) { return s.y; })), canvas);
  }

  // The cell of a list of edges that holds a value; -1 for outside.
  function cell(edges, v) {
    if (!(v >= edges[0] && v <= edges[edges.length - 1])) { return -1; }
    var i = 0;
    while (i < edges.length - 2 && v >= edges[i + 1]) { i++; }
    return i;
  }

  function heat(data, canvas) {
    var most = 1;
    data.counts.forEach(function (column) { column.forEach(function (n) { most = Math.max(most, n); }); });
    function cells(u) {
      var c = u.ctx;
      c.save();
      c.fillStyle = color("--s1");
      data.counts.forEach(function (column, i) {
        var left = Math.round(u.valToPos(data.x[i], "x", true)), right = Math.round(u.valToPos(data.x[i + 1], "x", true));
        column.forEach(function (n, j) {
          if (n === 0) { return; }
          var top = Math.round(u.valToPos(data.y[j + 1], "y", true)), bottom = Math.round(u.valToPos(data.y[j], "y", true));
          // One in a million must still be seen.
          c.globalAlpha = 0.15 + 0.85 * (most > 1 ? Math.log(n) / Math.log(most) : 1);
          c.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
        });
      });
      c.restore();
    }
    function under(u) {
      if (u.cursor.left === undefined || u.cursor.left < 0) { return "–"; }
      var i = cell(data.x, u.posToVal(u.cursor.left, "x")), j = cell(data.y, u.posToVal(u.cursor.top, "y"));
      if (i < 0 || j < 0) { return "–"; }
      var of = withUnit(data.yAxis);
      return data.counts[i][j].toLocaleString("en") + " of " + of(u, data.y[j]) + " to " + of(u, data.y[j + 1]);
    }
    function fixed(axis, edges) {
      var s = axis.log ? { time: false, distr: 3, log: axis.log } : { time: false };
      s.range = function () { return [edges[0], edges[edges.length - 1]]; };
      return s;
    }
    return new uPlot({
      width: canvas.clientWidth,
      height: height,
      padding: [12, 24, 0, 0],
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: { x: fixed(data.xAxis, data.x), y: fixed(data.yAxis, data.y) },
      axes: [axisOptions(data.xAxis, false), axisOptions(data.yAxis, true)],
      series: [
        { label: data.xAxis.label, value: withUnit(data.xAxis) },
        { label: data.what, value: under, stroke: color("--s1"), paths: function () { return null; }, points: { show: false } }
      ],
      hooks: { drawAxes: [cells] }
    }, [data.x, data.x.map(function () { return data.y[0]; })], canvas);
  }

  function draw(figure) {
    var data = JSON.parse(figure.querySelector("script").textContent);
    return (figure.classList.contains("heat") ? heat : lines)(data, figure.querySelector(".canvas"));
  }

  var plots = [];
  function drawAll() {
    plots.forEach(function (p) { p.plot.destroy(); });
    plots = Array.prototype.map.call(document.querySelectorAll("figure.plot"), function (figure) {
      return { plot: draw(figure), canvas: figure.querySelector(".canvas") };
    });
  }
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  function fit() {
    plots.forEach(function (p) { p.plot.setSize({ width: p.canvas.clientWidth, height: height }); });
  }
  addEventListener("resize", fit);
  // A plot in a folded part has no width until it is unfolded.
  document.addEventListener("toggle", fit, true);
})();
