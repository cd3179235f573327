//! Sources in C-Linda: short ones, which reach every kind of field, declaration and misuse.

use super::{Seed, named};

const FIELDS: &str = "struct p { int x, y[2]; }; typedef unsigned char byte; enum { ONE = 1 };
int f(int x, double y); int n, a[10], g[2][3]; char s[9], *q; double d; struct p p;
void test(void) {
  out(\"a\", n, 'c', 1.5f, -2, ONE, p, a, g, q:3, a:, &a[2]:n - 2, \"text\":5, (char *)s:8, n ? 1 : 2);
  if (inp(\"a\", ?n) && !rdp(?int, ?a:n, ?g:, ?p.x, ?*q)) in(\"b\", rd(1), ?s:);
  eval(\"r\", f(n, 2), d, f(1, f(2, 3)));
}
int real_main(argc, argv) int argc; char **argv; { for (int i = 0; i < 3; i++) out(i); }
";

const MISUSES: &str = "int in(int x); const int c; void v(void); long double w;
void f(char *p) { out(p); in(?c, ?3, ?void, ?p:1.5); eval(1); eval(v()); out(); out(1,,2); out(w); out(a[1); }
";

const EXPANDED: &str = "# 1 \"input.cl\"\n# 1 \"/usr/include/x.h\" 1 3\ntypedef int t;\n# 2 \"input.cl\" 2\n#define N 3\nt x = 3; void g(void) { out(N, x);\\\n}\n";

pub(super) fn sources() -> Vec<Seed> {
    let list = [("fields", FIELDS), ("misuses", MISUSES), ("expanded", EXPANDED)];
    named("clinda", list.map(|(name, text)| (name, text.as_bytes().to_vec())).to_vec())
}
