//! Sources in C-Linda: short ones, which reach every kind of field, declaration and misuse. Objects with the notes of such.

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

const NOTE: &str = "quintet-clinda 1 18\nfile\ta.cl\nreal_main\t9\t1\t}\noperation\tout\t4\t5\tout(...);\tout(...)\ntext\t\"a\"\nconstant\tint\t3\nvalue\tdouble\nrecord\tstruct p\narray\tint\t3\t4\nrecords\tstruct p\tany\n\
operation\tin\t5\t5\tin(...);\tin(...)\ntext\t\"b\"\nvalue\tint\nformal\tdouble\nformal-record\tstruct p\nformal-array\tint\tany\t4\nformal-records\tstruct p\t2\noperation\trdp\t6\t5\trdp(1)\trdp(1)\nconstant\tint\t1\n";

pub(super) fn objects() -> Vec<Seed> {
    let object = object(NOTE.as_bytes());
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in [("/", &b"\0\0\0\0"[..]), ("a.o/", &object), ("words/", b"odd")] {
        archive
            .extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len()).bytes());
        archive.extend(content);
        archive.extend(vec![b'\n'; content.len() % 2]);
    }
    named("clinda_object", vec![("object", object), ("archive", archive)])
}

/// An object in which nothing is but this note: its head, the content of its sections, and their heads.
fn object(note: &[u8]) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.quintet.clinda\0.shstrtab\0";
    const HEAD_BYTES: u64 = 64;
    let (note_bytes, names_bytes) = (note.len() as u64, NAMES.len() as u64);
    let sections = [(0, 0, 0), (1, HEAD_BYTES, note_bytes), (17, HEAD_BYTES + note_bytes, names_bytes)];
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(40, 0);
    bytes.extend((HEAD_BYTES + note_bytes + names_bytes).to_le_bytes());
    bytes.resize(58, 0);
    for number in [HEAD_BYTES as u16, sections.len() as u16, 2] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(note);
    bytes.extend(NAMES);
    for (name, begin, length) in sections {
        let mut head = [0; HEAD_BYTES as usize];
        head[..4].copy_from_slice(&u32::to_le_bytes(name));
        head[24..32].copy_from_slice(&u64::to_le_bytes(begin));
        head[32..40].copy_from_slice(&u64::to_le_bytes(length));
        bytes.extend(head);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_clinda::Object;

    #[test]
    fn objects_have_a_note() {
        for seed in objects() {
            let found = Object::read(&seed.bytes).expect("it is whole");
            assert_eq!(found.notes.len(), 1, "{}", seed.name);
        }
    }
}
