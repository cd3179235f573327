//! A farm of evals whose processes die again and again, at any moment, and of which a worker is killed with all that it carries out.

use super::program;
use crate::tool::{LONG, result, start, text};
use quintet::{Lab, ServeConfig, Server, template};
use quintet_testbed::{Program, TempDir};

/// The product of a matrix and itself, by an eval a cell. Each of their processes dies once: at once, or by a timer in the midst of whatever it does by then. One
/// of them takes the worker with it that made it, and the other evals of that.
const FARM: &str = "#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
enum { SIZE = 10, MOMENTS = 16, STEP_US = 100 };
static void die_once(int number)
{
    struct itimerval soon = {.it_value = {.tv_usec = number % MOMENTS * STEP_US}};
    if (!inp(\"death\", number))
        return;
    if (number % MOMENTS == 0)
        raise(SIGKILL);
    setitimer(ITIMER_REAL, &soon, NULL);
}
int cell(int row, int column);
int cell(int row, int column)
{
    int a[SIZE], b[SIZE], sum = 0;
    die_once(row * SIZE + column);
    if (getenv(\"QUINTET_RANK\") != NULL && inp(\"death of a worker\", row, column))
        kill(getppid(), SIGKILL);
    rd(\"row\", row, ?a:);
    rd(\"row\", column, ?b:);
    for (int i = 0; i < SIZE; i++)
        sum += a[i] * b[i];
    return sum;
}
void real_main(void)
{
    int values[2 * SIZE], value, wrong = 0;
    for (int i = 0; i < 2 * SIZE; i++)
        values[i] = i + 2;
    for (int i = 0; i < SIZE; i++)
        out(\"row\", i, &values[i]:SIZE);
    for (int i = 0; i < SIZE * SIZE; i++)
        out(\"death\", i);
    out(\"death of a worker\", SIZE / 2, SIZE / 2);
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            eval(\"cell\", row, column, cell(row, column));
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++) {
            int sum = 0;
            for (int i = 0; i < SIZE; i++)
                sum += values[row + i] * values[column + i];
            in(\"cell\", row, column, ?value);
            wrong += value != sum;
        }
    printf(\"%d cells are wrong, twice: %d\\n\", wrong, rdp(\"cell\", ?int, ?int, ?int));
}
";

/// Runs the farm so often as a job, and in a space that outlives it: each cell comes once, and is right.
fn farm(times: usize) {
    let folder = TempDir::new().unwrap();
    let farm = program(&folder, "farm", FARM);
    for _ in 0..times {
        let socket = folder.join("space");
        let server = Server::start(&socket, &ServeConfig::default()).unwrap();
        let alone = Program::new(&farm).env("QUINTET_SPACE", &socket).spawn().unwrap();
        for (code, said) in [result(start(["run", "-n", "3", text(&farm)], &[])), result(alone)] {
            assert!(code == 0 && said.contains("0 cells are wrong, twice: 0"), "{code}: {said}");
            assert!(said.contains("ended by signal 9 (Killed); the eval is begun again"), "{said}");
        }
        let space = Lab::connect(&socket, 0, LONG).unwrap().space();
        assert_eq!(space.count(&template!["cell", ?i32, ?i32, ?i32]).unwrap(), 0);
        assert_eq!(space.count(&template!["clinda.eval", ?str, ?i64, ?i32]).unwrap(), 0);
        server.stop().unwrap();
    }
}

#[test]
fn a_farm_of_evals_is_right_though_each_of_them_dies_once() {
    farm(1);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn a_farm_of_evals_is_right_however_often_they_die() {
    farm(100);
}
