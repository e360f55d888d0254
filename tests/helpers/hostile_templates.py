"""Chat templates that would take all memory, or all time, and why each is ended."""

from __future__ import annotations

_LOOP = "{% for i in range(99999) %}BODY{% endfor %}"
_NS = "{% set ns = namespace(s='x', t=['x'], u=('x',), d={}, n=9) %}"
_GROWN = _NS + "{% for i in range(60) %}BODY{% endfor %}"
_TEXT = "{% set t = 'ab ' * 2000 %}"
_NEST = _NS + "{% for i in range(60) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}"
_TUPLES = _NS + "{% for i in range(60) %}{% set ns.u = (ns.u, ns.u) %}{% endfor %}"
_DEEP = _NS + "{% for i in range(9999) %}{% set ns.u = (ns.u,) %}{% endfor %}"
_TWICE = "{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}"


def _grown(body: str) -> str:
    return _GROWN.replace("BODY", body)


def _looped(body: str, before: str = _TEXT) -> str:
    return before + _LOOP.replace("BODY", body)


TOO_MUCH_WORK = (
    # Loops and calls.
    _looped(_LOOP.replace("BODY", ""), ""),
    _looped(_LOOP.replace("BODY", "x"), ""),
    _looped("{% for j in range(99999) if false %}{% endfor %}", ""),
    _looped("{% for j in range(99999) if j > 99999 %}{% endfor %}", ""),
    _looped("{% for j in range(99999)|reverse %}{{ loop.length }}{% break %}{% endfor %}", ""),
    _looped("{% for j in range(99999) %}{% if loop|list %}{% endif %}{% break %}{% endfor %}", ""),
    "{% macro f(n) %}" + _TWICE + "{% endmacro %}{{ f(40) }}",
    "{% macro f(n) %}{% if n %}{{ caller() }}{{ caller() }}{% endif %}{% endmacro %}"
    + "{% call f(1) %}" * 18
    + "{% endcall %}" * 18,
    "{% for x in [[1] * 9] recursive %}{{ loop([x, x]) if loop.depth < 40 }}{% endfor %}",
    "{% block a %}{% for i in range(9) %}{{ self.b() }}{% endfor %}{% endblock %}"
    "{% block b %}{% for i in range(99999) %}{{ i }}{% endfor %}{% endblock %}",
    _looped("{% set x = a = b %}".replace("a = b", "i") * 200, ""),
    # Texts that grow.
    _grown("{% set ns.s = ns.s ~ ns.s %}"),
    _grown("{% set ns.s = ns.s + ns.s %}"),
    _grown("{% set ns.s = [ns.s, ns.s]|join %}"),
    _grown("{% set ns.s = [ns.s, ns.s]|join(ns.s) %}"),
    _grown("{% set ns.s = ns.s.join([ns.s, ns.s]) %}"),
    _grown("{% set ns.s = ''.join([ns.s, ns.s]) %}"),
    _grown("{% set ns.s = ns.s.replace('x', 'xx') %}"),
    _grown("{% set ns.s = ns.s|replace('x', 'xx') %}"),
    _grown("{% set ns.s = ns.s|replace('', 'x') %}"),
    _grown("{% set ns.s = '%s%s'|format(ns.s, ns.s) %}"),
    _grown("{% set ns.s = '%s%s' % (ns.s, ns.s) %}"),
    _grown("{% set ns.s = '{0}{0}'.format(ns.s) %}"),
    _grown("{% set ns.s = '{a}{a}'.format(a=ns.s) %}"),
    _grown("{% set ns.s = [ns.s]|tojson ~ ns.s %}"),
    _grown("{% set ns.s = ns.s|tojson|tojson %}"),
    _grown("{% set ns.s = (ns.s ~ '\"' ~ ns.s)|e %}"),
    _grown("{% set ns.s = ('\"'|safe) + ns.s ~ ns.s %}"),
    _grown("{% set ns.s = (''|safe).join([ns.s ~ '\"', ns.s]) %}"),
    _grown("{% set ns.s = [ns.s, ns.s]|string %}"),
    _grown("{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}"),
    _grown("{% set ns.s %}{% filter upper %}{{ ns.s }}{{ ns.s }}{% endfilter %}{% endset %}"),
    "{% macro f(s) %}{{ s }}{{ s }}{% endmacro %}" + _grown("{% set ns.s = f(ns.s) %}"),
    "{{ 'x' * 10 ** 10 }}",
    "{{ 10 ** 10 * 'x' }}",
    "{{ ('x' * 10 ** 7) * 10 ** 7 }}",
    "{{ [1] * 10 ** 10 }}",
    "{{ (1,) * 10 ** 10 }}",
    "{% filter indent(10 ** 9) %}a\nb{% endfilter %}",
    "{{ 'a\n'|indent(10 ** 10, true) }}",
    "{{ 'a\x0bb\u2028c'|indent(10 ** 9, blank=true) }}",
    "{{ ('a\n' * 99999)|indent('x' * 99999) }}",
    "{{ ('x' * 99999).join('x' * 99999) }}",
    "{{ range(99999)|join('x' * 99999) }}",
    "{{ ('x' * 99999).replace('x', 'x' * 99999) }}",
    "{{ ('x' * 99999)|replace('x', 'x' * 99999) }}",
    "{{ ('%s' * 9999)|format('x' * 99999) }}",
    "{{ ('{0}' * 9999).format('x' * 99999) }}",
    "{{ [1, 2]|tojson(separators=('x' * 10 ** 8, ':')) }}",
    # Texts that are read again and again.
    _looped("{{ t }}"),
    _looped("{% set x = t|upper %}"),
    _looped("{% set x = t|title %}"),
    _looped("{% set x = t.upper() %}"),
    _looped("{% set x = t|trim %}"),
    _looped("{% set x = t.strip() %}"),
    _looped("{% set x = t|trim(t) %}"),
    _looped("{% set x = t.split() %}"),
    _looped("{% set x = t.split('b', 5) %}"),
    _looped("{% set x = t.splitlines() %}"),
    _looped("{% set x = t|list %}"),
    _looped("{% set x = t|unique|list %}"),
    _looped("{% set x = t|sort %}"),
    _looped("{% set x = t|int %}"),
    _looped("{% set x = t.find('z') %}"),
    _looped("{% set x = t.rfind('z' ~ t) %}"),
    _looped("{% set x = t.isalpha() %}"),
    _looped("{% set x = t[1:] %}"),
    _looped("{% set x = t[::-1] %}"),
    _looped("{% set x = 'z' in t %}"),
    _looped("{% set x = 'z' is in t %}"),
    _looped("{% set x = t == t ~ '' %}"),
    _looped("{% set x = t is eq(t) %}"),
    _looped("{% set x = t is lower %}"),
    _looped("{% set x = {t ~ i: 1} %}"),
    _looped("{% set x = d[t ~ i] %}", _TEXT + "{% set d = {} %}"),
    _looped("{% set x = d.get(t ~ i) %}", _TEXT + "{% set d = {} %}"),
    _looped("{% set x = [t, t]|map('upper')|list %}"),
    _looped("{% set x = [t, t]|select('eq', t ~ i)|list %}"),
    _looped("{% set x = t|min %}"),
    _looped("{% set x = t|reject|list %}"),
    _looped("{% set x = range(99999)|reject|list %}", ""),
    _looped("{% set x = range(99999)|select|first %}", ""),
    _looped("{% set x = range(99999)|map('string')|first %}", ""),
    _looped("{% set x = range(99999)|reverse|first %}", ""),
    _looped("{% set x = range(99999)|join|first %}", ""),
    # Lists in lists.
    _NEST + "{{ ns.t }}",
    _NEST + "{{ ns.t|string }}",
    _NEST + "{{ ns.t|tojson }}",
    _NEST + "{{ ns.t|tojson(indent=1) }}",
    _NEST + "{{ ns.t ~ '' }}",
    _NEST + "{{ ns.t|join }}",
    _NEST + "{{ '%s'|format(ns.t) }}",
    _NEST + "{{ '{}'.format(ns.t) }}",
    _NEST + "{{ ns.t == ns.t }}",
    _NEST + "{{ ns.t in [ns.t] }}",
    _NEST + "{{ ns.t is eq(ns.t) }}",
    _NEST + "{{ [ns.t]|sort }}",
    _NEST + "{{ [{'a': ns.t}]|sort(attribute='a') }}",
    _NEST + "{{ [ns.t].index(1) }}",
    _NEST + "{{ raise_exception(ns.t) }}",
    _NEST + "{{ ns.t is lower }}",
    _NEST + "{% for x in [1] %}{{ loop.changed(ns.t) }}{% endfor %}",
    _TUPLES + "{{ {ns.u: 1} }}",
    _TUPLES + "{{ ns.d[ns.u] }}",
    _TUPLES + "{{ ns.d.get(ns.u) }}",
    _TUPLES + "{{ ns.u in ns.d }}",
    _TUPLES + "{{ [ns.u]|unique|list }}",
    _TUPLES + "{{ dict([(ns.u, 1)]) }}",
    _TUPLES + "{{ [ns.d]|map(attribute=ns.u)|list }}",
    # Lists that grow.
    _grown("{% set ns.t = ns.t + ns.t %}"),
    _grown("{% set ns.u = ns.u + ns.u %}"),
    _looped("{% set ns.t = ns.t + [i] %}", _NS),
    _looped("{% set x = range(99999)|list %}", ""),
    _looped("{% set x = range(99999)|sort %}", ""),
    _looped("{% set x = 99998 in range(99999)|list %}", ""),
)
"""What the budget ends."""

REFUSED = (
    # Filters that no chat template uses, and that pad, wrap, round or repeat.
    *(("{{ 'x'|center(10 ** 10) }}", "No filter named 'center'"),),
    *(("{{ ['x']|map('center', 10 ** 10)|list }}", "No filter named 'center'"),),
    *(("{{ [1]|batch(10 ** 10, 1)|list }}", "No filter named 'batch'"),),
    *(("{{ [1]|slice(10 ** 10)|list }}", "No filter named 'slice'"),),
    *(("{{ 'a b'|wordwrap(1, wrapstring='x' * 10 ** 8) }}", "No filter named 'wordwrap'"),),
    *(("{{ 1.5|round(-(10 ** 10)) }}", "No filter named 'round'"),),
    *(("{{ 5|round(10 ** 10, 'ceil') }}", "No filter named 'round'"),),
    *(("{{ [[1]]|sum(start=[]) }}", "No filter named 'sum'"),),
    *(("{{ 'x'|attr('center') }}", "No filter named 'attr'"),),
    *(("{{ 'x'|urlize }}", "No filter named 'urlize'"),),
    *(("{{ [[1]]|pprint }}", "No filter named 'pprint'"),),
    *(("{% filter center(10 ** 10) %}x{% endfilter %}", "No filter named 'center'"),),
    *(("{{ lipsum(n=10 ** 6) }}", "'lipsum' is undefined"),),
    # Methods likewise.
    *(("{{ 'x'.center(10 ** 10) }}", "calls center"),),
    *(("{{ 'x'['ljust'](10 ** 10) }}", "calls ljust"),),
    *(("{{ 'x'.zfill(10 ** 10) }}", "calls zfill"),),
    *(("{{ '\t'.expandtabs(10 ** 10) }}", "calls expandtabs"),),
    *(("{{ 'x'.translate({120: 'x' * 10 ** 6}) }}", "calls translate"),),
    *(("{{ 'x'.encode('utf-32') }}", "calls encode"),),
    *(("{{ '{a}'.format_map({'a': 1}) }}", "calls format_map"),),
    *(("{{ (1).to_bytes(10 ** 10, 'big') }}", "calls to_bytes"),),
    *(("{{ {}.fromkeys(range(99999)) }}", "calls fromkeys"),),
    *(("{{ dict.fromkeys(range(99999)) }}", "calls fromkeys"),),
    *(("{{ dict.get({}, 1) }}", "calls get"),),
    *(("{{ (range(9)|map('string')).send(1) }}", "calls send"),),
    *(("{{ [1]() }}", "calls a list"),),
    # Widths and precisions.
    *(("{{ '%999999999d'|format(1) }}", "formats with more"),),
    *(("{{ '%.999999999f' % 1 }}", "formats with more"),),
    *(("{{ '%*d'|format(10 ** 9, 1) }}", "formats with more"),),
    *(("{{ '%(a(b))999999999d' % {'a(b)': 1} }}", "formats with more"),),
    *(("{{ '{:999999999}'.format(1) }}", "formats with more"),),
    *(("{{ '{:{}}'.format(1, 10 ** 9) }}", "formats with more"),),
    *(("{{ 'x'['format'] and '{:>999999999}'.format(1) }}", "formats with more"),),
    *(("{{ [1]|tojson(indent=10 ** 8) }}", "indents JSON"),),
    *(("{{ [1]|tojson(indent=' ' * 10 ** 6) }}", "indents JSON"),),
    *(("{{ strftime_now('%c' * 9999) }}", "format of a date"),),
    # Numbers.
    *(("{{ 7 ** (7 ** 9) }}", "more than 4096 bits"),),
    *((_grown("{% set ns.n = ns.n * ns.n %}"), "more than 4096 bits"),),
    *(("{{ ('f' * 10 ** 6)|int(base=16) // 3 }}", "more than 1024 digits"),),
    *(("{{ range(10 ** 9)|list }}", "Range too big"),),
    # Depth.
    *((_DEEP + "{{ {ns.u: 1} }}", "more than 200 deep"),),
    *((_DEEP + "{{ ns.d[ns.u] }}", "more than 200 deep"),),
    *((_DEEP + "{{ ns.u }}", "more than 200 deep"),),
    *((_DEEP + "{{ ns.u == ns.u }}", "more than 200 deep"),),
    *(("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "maximum recursion depth"),),
    *(("{% block a %}{{ self.a() }}{% endblock %}", "maximum recursion depth"),),
    # What is not paid.
    *(("{% autoescape true %}{{ '\"' }}{% endautoescape %}", "autoescape"),),
    *(("{{ dict(*[1]) }}", "spreads"),),
    *(("{{ 'x'|replace(**{'old': 'x'}) }}", "spreads"),),
    *(("{% for a in [] %}" * 30 + "{% endfor %}" * 30, "statically nested blocks"),),
    *(("x" * 2**18, "262144 characters"),),
    *(("{{ " + "9" * 9999 + " }}", "integer string conversion"),),
)
"""What is refused whatever is left, with a part of the reason."""
