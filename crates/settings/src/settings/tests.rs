use super::*;
use crate::{RUN_KILL_ONE, SPACE_LEASE_MS, SPACE_MAX_BYTES, SPACE_MAX_TUPLES};
use proptest::prelude::*;
use quintet_testbed::TempDir;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs;
use std::sync::mpsc;
use std::time::Duration;

fn variables(list: &[(&str, &str)]) -> Environment {
    list.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn file_with(text: &str) -> (TempDir, Sources) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("quintet.toml");
    fs::write(&path, text).unwrap();
    (folder, Sources { file: Some(path), ..Sources::default() })
}

fn refusal(text: &str) -> (String, PathBuf) {
    let (_folder, sources) = file_with(text);
    let error = Settings::load(&sources).unwrap_err();
    let path = sources.file.unwrap();
    (error.to_string().replace(&*path.to_string_lossy(), "FILE"), path)
}

#[test]
fn an_argument_wins_over_the_environment_over_the_file_over_the_default() {
    let (_folder, mut sources) =
        file_with("[space]\nmax_bytes = 2\nmax_tuples = 3\n\n[run]\nkill_one = true\n");
    let values = |sources: &Sources| {
        let settings = Settings::load(sources).unwrap();
        [settings.number(&SPACE_MAX_BYTES), settings.number(&SPACE_MAX_TUPLES)]
    };
    assert!(Settings::load(&sources).unwrap().switch(&RUN_KILL_ONE));
    assert_eq!(values(&sources), [2, 3]);
    sources.environment = variables(&[("QUINTET_SPACE_MAX_BYTES", "20")]);
    assert_eq!(values(&sources), [20, 3]);
    sources.arguments = vec!["space.max_bytes=200".into(), "space.max_bytes=300".into()];
    assert_eq!(values(&sources), [300, 3], "of two arguments the last counts");
    let settings = Settings::load(&sources).unwrap();
    assert_eq!(settings.origin(Setting::Number(&SPACE_MAX_BYTES)), Origin::Given(Place::Argument));
    assert_eq!(values(&Sources::default()), [SPACE_MAX_BYTES.default, SPACE_MAX_TUPLES.default]);
}

#[test]
fn an_error_names_file_line_key_and_what_was_expected() {
    assert_eq!(
        refusal("# a file\n[space]\nmax_tuples = 1\nmax_bytes = \"many\"\n").0,
        "FILE, line 4: space.max_bytes is \"many\", expected a whole number from 1 to 1125899906842624 bytes"
    );
    assert_eq!(
        refusal("space.max_attempts = 0").0,
        "FILE, line 1: space.max_attempts is 0, expected a whole number from 1 to 4294967295"
    );
    assert_eq!(
        refusal("[run]\n\nkill_one = [true]").0,
        "FILE, line 3: run.kill_one is [true], expected true or false"
    );
    assert_eq!(
        refusal("\nspace.max_byte = 1").0,
        "FILE, line 2: there is no setting space.max_byte; did you mean space.max_bytes?"
    );
    assert_eq!(
        refusal("colour = 1").0,
        "FILE, line 1: there is no setting colour; docs/settings.md lists them all"
    );
    let not_toml = refusal("[space]\nmax_bytes = = 1\n").0;
    assert!(not_toml.starts_with("FILE, line 2: not TOML: "), "{not_toml}");
}

#[test]
fn errors_outside_a_file_name_their_place_too() {
    let refused = |arguments: &[&str], environment: &[(&str, &str)]| {
        let arguments = arguments.iter().map(|argument| argument.to_string()).collect();
        let sources = Sources { arguments, environment: variables(environment), ..Sources::default() };
        Settings::load(&sources).unwrap_err().to_string()
    };
    assert_eq!(refused(&["verbose"], &[]), "command line: verbose is not a setting, expected NAME=VALUE");
    assert_eq!(
        refused(&["cluster.name="], &[]),
        "command line: cluster.name is empty, expected 1 to 64 letters, digits, '-', '_' or '.'"
    );
    assert_eq!(
        refused(&["run.workers=4"], &[("QUINTET_RUN_WORKERS", "0")]),
        "environment variable QUINTET_RUN_WORKERS: run.workers is 0, expected a whole number from 1 to 1024",
        "also when an argument would have hidden it"
    );
    assert_eq!(
        refused(&[], &[("QUINTET_SPACE_MAX_BITES", "1")]),
        "environment variable QUINTET_SPACE_MAX_BITES: there is no setting space.max_bites; did you mean space.max_bytes?"
    );
}

#[test]
fn a_short_variable_goes_before_the_long_one_and_after_an_argument() {
    let long = [("QUINTET_SPACE_LEASE_MS", "50"), ("QUINTET_SPACE_ADDRESS", "/long")];
    let short = [("QUINTET_LEASE_MS", "40"), ("QUINTET_SPACE", "tcp:lab:7400")];
    let environment = variables(&[long, short].concat());
    let mut sources = Sources { environment, ..Sources::default() };
    let settings = Settings::load(&sources).unwrap();
    assert_eq!(settings.number(&SPACE_LEASE_MS), 40);
    assert_eq!(settings.space_address(), Path::new("tcp:lab:7400"));
    sources.arguments = vec!["space.lease_ms=60".into()];
    assert_eq!(Settings::load(&sources).unwrap().number(&SPACE_LEASE_MS), 60);
    sources.environment = variables(&[("QUINTET_LEASE_MS", "x")]);
    let refused = Settings::load(&sources).unwrap_err().to_string();
    assert!(refused.starts_with("environment variable QUINTET_LEASE_MS: space.lease_ms is x"), "{refused}");
}

#[test]
fn variables_of_others_are_left_alone() {
    let environment = variables(&[("QUINTET_TESTBED_PARENT", "7"), ("QUINTET", "x"), ("PATH", "/bin")]);
    assert!(Settings::load(&Sources { environment, ..Sources::default() }).is_ok());
    let not_unicode = vec!["LS_COLORS".to_owned(), "QUINTET".to_owned()];
    assert!(Settings::load(&Sources { not_unicode, ..Sources::default() }).is_ok());
}

#[test]
fn a_variable_that_is_not_unicode_is_refused_and_not_passed_over() {
    for (variable, name) in [("QUINTET_SPACE", "space.address"), ("QUINTET_CLUSTER_NAME", "cluster.name")] {
        let sources = Sources { not_unicode: vec![variable.to_owned()], ..Sources::default() };
        let refused = Settings::load(&sources).unwrap_err().to_string();
        let expected =
            format!("environment variable {variable}: {name} is bytes that are not UTF-8, expected ");
        assert!(refused.starts_with(&expected), "{refused}");
    }
}

#[test]
fn a_file_that_was_named_must_exist_and_the_default_one_need_not() {
    let folder = TempDir::new().unwrap();
    let sources = Sources { file: Some(folder.path().join("none.toml")), ..Sources::default() };
    let error = Settings::load(&sources).unwrap_err();
    assert_eq!(error.code(), quintet_errors::Code::BadFile);
    assert!(matches!(error, SettingError::Unreadable { .. }), "{error}");
    assert!(Settings::load(&Sources { look_for_file: true, ..Sources::default() }).is_ok());
}

/// Why this file is not read, said within a time in which nothing here ends by itself.
fn refused(path: PathBuf) -> String {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        tell.send(Settings::load(&Sources { file: Some(path), ..Sources::default() }))
    });
    let loaded = told.recv_timeout(Duration::from_secs(60)).expect("it does not wait");
    let error = loaded.expect_err("it is not read");
    assert!(matches!(error, SettingError::Unreadable { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_pipe_a_device_and_a_folder_are_no_settings_files() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.join("pipe");
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    for path in [pipe, folder.path().to_owned(), PathBuf::from("/dev/zero")] {
        let said = refused(path);
        assert!(said.ends_with("it is no plain file"), "{said}");
    }
}

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.join("quintet.toml");
    let file = fs::File::create(&path).unwrap();
    file.set_len(3 << 30).unwrap();
    let said = refused(path.clone());
    assert!(said.contains("longer than 1048576 bytes"), "{said}");
    let comment = |length: usize| [b"#".repeat(length), b"\n[run]\nworkers = 7".to_vec()].concat();
    let longest = usize::try_from(crate::LONGEST_FILE_BYTES).unwrap() - comment(0).len();
    fs::write(&path, comment(longest)).unwrap();
    let sources = Sources { file: Some(path), ..Sources::default() };
    assert_eq!(Settings::load(&sources).unwrap().number(&crate::RUN_WORKERS), 7);
}

#[test]
fn the_space_is_where_only_its_user_looks_and_named_after_the_cluster() {
    let path = |arguments: &[&str], environment: &[(&str, &str)]| {
        let arguments = arguments.iter().map(|argument| argument.to_string()).collect();
        let sources =
            Sources { arguments, environment: variables(environment), user: 1000, ..Sources::default() };
        Settings::load(&sources).unwrap().space_address()
    };
    assert_eq!(path(&[], &[]), Path::new("/tmp/quintet-1000/local.sock"));
    assert_eq!(path(&["cluster.name=lab"], &[]), Path::new("/tmp/quintet-1000/lab.sock"));
    let runtime = [("XDG_RUNTIME_DIR", "/run/user/1000")];
    assert_eq!(path(&[], &runtime), Path::new("/run/user/1000/quintet/local.sock"));
    assert_eq!(path(&[], &[("XDG_RUNTIME_DIR", "")]), Path::new("/tmp/quintet-1000/local.sock"));
    assert_eq!(path(&["space.address=/x/y", "cluster.name=lab"], &runtime), Path::new("/x/y"));
}

#[test]
fn the_table_keeps_its_own_rules() {
    let mut names = std::collections::BTreeSet::new();
    for setting in ALL {
        assert!(names.insert(setting.environment_name()), "{} is there twice", setting.name());
        assert_eq!(name_of(&setting.environment_name()).as_deref(), Some(setting.name()));
        if !matches!(setting, Setting::Location(_)) {
            assert!(setting.parse(&setting.default_text()).is_some(), "the default of {}", setting.name());
        }
    }
    let mut groups: Vec<&str> = ALL.iter().map(|setting| setting.name().split('.').next().unwrap()).collect();
    groups.dedup();
    let of_all = groups.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(groups.len(), of_all, "a group in two places: {groups:?}");
    for (variable, name) in SHORT_VARIABLES {
        assert!(Setting::find(name).is_some() && names.insert((*variable).to_owned()), "{variable}");
    }
}

#[test]
fn the_documentation_names_every_setting() {
    let page = crate::markdown();
    for setting in ALL {
        assert!(page.contains(&format!("`{}`", setting.name())), "{}", setting.name());
    }
    for (variable, _) in SHORT_VARIABLES {
        assert!(page.contains(&format!("`{variable}`")), "{variable}");
    }
}

proptest! {
    #[test]
    fn numbers_in_the_range_are_taken_and_others_refused(value: u64) {
        let sources = Sources { arguments: vec![format!("run.workers={value}")], ..Sources::default() };
        prop_assert_eq!(Settings::load(&sources).is_ok(), (1..=1_024).contains(&value));
    }

    #[test]
    fn any_file_is_read_or_refused(text in "(\\[?[a-z_.=\" \n0-9]{0,12}\\]?\n){0,6}") {
        let _ = file::read(Path::new("FILE"), &text);
    }
}
