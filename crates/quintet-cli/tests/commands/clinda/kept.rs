//! Tuples that are kept from one operation to the next: what varies varies, and each thread has its own.

use super::{alone, program};
use quintet_testbed::TempDir;

#[test]
fn an_operation_that_is_made_again_has_the_values_of_that_time() {
    let folder = TempDir::new().unwrap();
    let source = "#include <stdio.h>
struct point { int x, y; };
void real_main(void)
{
    struct point p = {1, 2}, q;
    double grid[2][3] = {{1, 2, 3}, {4, 5, 6}}, back[2][3];
    char text[10];
    int n, m, length;
    for (int i = 1; i <= 3; i++) {
        p.y = grid[1][2] = i;
        out(i, \"grid\", grid, 3 + 4, p, \"texts\":i);
        in(?n, \"grid\", ?back, 7, ?q, ?text:length);
        printf(\"%d %g %d %d\\n\", n, back[1][2], q.y, length);
        out(\"a\", i, i + 1);
        in(\"a\", i, ?m);
        out(\"c\", i);
        out(\"b\", inp(\"c\", ?int), m);
        int found = rdp(\"b\", 1, ?n) && inp(\"b\", 1, ?n);
        printf(\"%d %d %d\\n\", found, n, inp(\"b\", 1, ?int));
    }
}
";
    let said = "1 1 1 1\n1 2 0\n2 2 2 2\n1 3 0\n3 3 3 3\n1 4 0";
    assert_eq!(alone(&program(&folder, "again", source), &[]), (0, said.to_owned()));
}

#[test]
fn threads_do_not_share_what_is_kept() {
    let folder = TempDir::new().unwrap();
    let source = "#include <pthread.h>
#include <stdio.h>
static long wrong[4];
static void *work(void *of)
{
    long *mistakes = of;
    for (int i = 0; i < 500; i++) {
        double d;
        out(mistakes - wrong, i, i / 2.0);
        in(mistakes - wrong, i, ?d);
        *mistakes += d != i / 2.0;
    }
    return NULL;
}
void real_main(void)
{
    pthread_t threads[4];
    out(\"one, so that this process is connected\");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &wrong[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf(\"%ld\\n\", wrong[0] + wrong[1] + wrong[2] + wrong[3]);
}
";
    assert_eq!(alone(&program(&folder, "threads", source), &[]), (0, "0".to_owned()));
}
