/* Who may use spaces of a cluster: `cluster quintet://NAME`, whose only machine is `a`. */

#include "check.h"

static void who_is_named_by_a_machine_may_use_a_space(quintet_lab *lab, const char *name, const char *policy) {
    const char *machines[] = {"a"}, *stranger[] = {"a", "b"};
    quintet_space_settings settings = {.policy = policy, .is_restricted = true, .machines = machines, .machine_count = 1};
    quintet_space *space;
    quintet_tuple *row = pair("row", 1);
    OK(quintet_lab_create_space(lab, name, &settings, &space));
    OK(quintet_space_out(space, row, QUINTET_FOREVER));
    quintet_space_free(space);
    quintet_tuple_free(row);
    settings.machines = stranger;
    settings.machine_count = 2;
    REFUSED("machine 2: \"b\" is not in the cluster; there are: a", quintet_lab_create_space(lab, "other", &settings, &space));
    settings.is_restricted = false;
    REFUSED("is_restricted is false", quintet_lab_create_space(lab, "other", &settings, &space));
    settings.is_restricted = true;
    settings.machines = NULL;
    REFUSED("machines is NULL", quintet_lab_create_space(lab, "other", &settings, &space));
}

static void rights_are_said_anew_of_spaces_that_are_kept_for_some(quintet_lab *lab) {
    const char *a[] = {"a"}, *b[] = {"b"};
    OK(quintet_lab_allow_space(lab, "kept", a, 1, NULL, 0));
    REFUSED("not for 0", quintet_lab_allow_space(lab, "kept", NULL, 0, a, 1));
    REFUSED("\"b\" is not in the cluster", quintet_lab_allow_space(lab, "kept", b, 1, NULL, 0));
    COMES_TO(QUINTET_NO_SUCH_SPACE, quintet_lab_allow_space(lab, "volatile", a, 1, NULL, 0));
    OK(quintet_lab_remove_space(lab, "kept"));
    OK(quintet_lab_remove_space(lab, "volatile"));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    quintet_lab *lab;
    OK(quintet_lab_connect(argv[1], &lab));
    who_is_named_by_a_machine_may_use_a_space(lab, "volatile", NULL);
    who_is_named_by_a_machine_may_use_a_space(lab, "kept", "logged");
    rights_are_said_anew_of_spaces_that_are_kept_for_some(lab);
    quintet_lab_free(lab);
    return 0;
}
