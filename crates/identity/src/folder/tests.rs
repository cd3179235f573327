use super::*;
use quintet_testbed::TempDir;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("it is there").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_cluster_is_for_its_user_only_and_never_made_twice() {
    let folder = TempDir::new().expect("a folder");
    let lab = folder.join("quintet").join("lab");
    let made = create(&lab, "a").expect("nothing is there");
    assert_eq!((&made.path, made.days), (&lab, 90));
    assert_eq!(names(&lab), [AUTHORITY_KEY, AUTHORITY, MACHINE]);
    assert_eq!(mode(&lab), 0o700);
    assert!(names(&lab).iter().all(|name| mode(&lab.join(name)) == 0o600));
    let before = read(&lab).expect("it is whole");
    assert_eq!(create(&lab, "a"), Err(IdentityError::Exists { path: lab.clone() }));
    assert_eq!(read(&lab).expect("it is whole"), before, "it stays as it is");
    assert_eq!(names(&folder.join("quintet")), ["lab"], "nothing else is left");
}

#[test]
fn an_identity_for_another_machine_is_one_file() {
    let folder = TempDir::new().expect("a folder");
    let (lab, out) = (folder.join("lab"), folder.join("b.identity"));
    let made = create(&lab, "a").expect("nothing is there");
    let issued = issue(&lab, "b", &out).expect("nothing is there");
    assert_eq!((issued.cluster, mode(&out)), (made.cluster, 0o600));
    let text = String::from_utf8(read(&out).expect("it is whole")).expect("text");
    assert_eq!(text.matches("BEGIN CERTIFICATE").count(), 2);
    assert_eq!(text.matches("BEGIN PRIVATE KEY").count(), 1);
    let authority = fs::read_to_string(lab.join(AUTHORITY_KEY)).expect("it is there");
    assert!(!text.contains(&authority), "the authority's key stays at home");
    assert_eq!(issue(&lab, "b", &out), Err(IdentityError::Exists { path: out.clone() }));
    assert_eq!(issue(&folder.join("elsewhere"), "b", &folder.join("c")), Err(IdentityError::NotAnAuthority));
    assert_eq!(names(folder.path()), ["b.identity", "lab"], "nothing else is left");
}

#[test]
fn nothing_is_issued_with_anything_but_a_certificate_of_the_authority() {
    let folder = TempDir::new().expect("a folder");
    let lab = folder.join("lab");
    create(&lab, "a").expect("nothing is there");
    let text = |name: &str| fs::read_to_string(lab.join(name)).expect("a text");
    let (certificate, key) = (text(AUTHORITY), text(AUTHORITY_KEY));
    for other in [String::new(), "garbage".to_owned(), key.clone(), format!("{certificate}{key}")] {
        fs::write(lab.join(AUTHORITY), other).expect("it can be written");
        assert_eq!(issue(&lab, "b", &folder.join("b")), Err(IdentityError::NotAnAuthority));
    }
    assert_eq!(names(folder.path()), ["lab"], "nothing was made");
}

#[test]
fn what_another_process_is_making_stays() {
    let folder = TempDir::new().expect("a folder");
    // In another container a process may have the same number.
    let number = std::process::id();
    let (other_file, other_lab) =
        (folder.join(format!(".b.{number}")), folder.join(format!(".lab.{number}")));
    write_new(&other_file, "not whole").expect("nothing is there");
    make_folder(&other_lab).expect("nothing is there");
    create(&folder.join("lab"), "a").expect("nobody else's is in the way");
    issue(&folder.join("lab"), "b", &folder.join("b")).expect("nobody else's is in the way");
    assert_eq!(fs::read(&other_file).expect("it stays"), b"not whole");
    assert!(other_lab.is_dir());
}

#[test]
fn what_others_may_read_is_refused_with_what_to_type() {
    let folder = TempDir::new().expect("a folder");
    let lab = folder.join("lab");
    create(&lab, "a").expect("nothing is there");
    let machine = lab.join(MACHINE);
    for open in [0o640, 0o604, 0o620, 0o644] {
        fs::set_permissions(&machine, Permissions::from_mode(open)).expect("it is this user's");
        let error = read(&lab).expect_err("others may read it");
        assert_eq!(error, IdentityError::OpenToOthers { path: machine.clone(), mode: open });
        assert!(error.to_string().ends_with(&format!("chmod 600 {}", machine.display())), "{error}");
    }
    fs::set_permissions(&machine, Permissions::from_mode(0o400)).expect("it is this user's");
    read(&lab).expect("nobody else may read it");
}

#[test]
fn what_is_no_identity_is_not_read() {
    let folder = TempDir::new().expect("a folder");
    let nowhere = folder.join("nowhere");
    assert_eq!(read(&nowhere), Err(IdentityError::Missing { path: nowhere.clone() }));
    let long = folder.join("long");
    write_new(&long, &"x".repeat(LONGEST as usize + 1)).expect("nothing is there");
    assert_eq!(read(&long), Err(IdentityError::TooLong { path: long.clone() }));
    let empty = TempDir::new().expect("a folder");
    assert_eq!(read(empty.path()), Err(IdentityError::Missing { path: empty.join(MACHINE) }));
}

#[test]
fn a_name_leads_to_a_folder_of_this_user_and_a_path_to_itself() {
    let environment = |config: &'static str, home: &'static str| {
        move |name: &str| match name {
            "XDG_CONFIG_HOME" => Some(config.into()),
            "HOME" => Some(home.into()),
            _ => None,
        }
    };
    let at = |setting: &str, config, home| place(setting, &environment(config, home));
    assert_eq!(at("lab", "/c", "/h"), Ok("/c/quintet/lab".into()));
    assert_eq!(at("lab", "relative", "/h"), Ok("/h/.config/quintet/lab".into()));
    assert_eq!(at("./lab", "/c", "/h"), Ok("./lab".into()));
    assert_eq!(at("lab", "", ""), Err(IdentityError::NoHome));
    for bad in ["", "..", ".hidden", "a b", "a\n", &"x".repeat(65)] {
        assert!(matches!(at(bad, "/c", "/h"), Err(IdentityError::BadName { .. })), "{bad:?}");
    }
}

#[test]
fn a_members_folder_has_no_authority_and_its_identity_is_replaced_whole() {
    let folder = TempDir::new().expect("a folder");
    let (lab, member) = (folder.join("lab"), folder.join("member"));
    create(&lab, "a").expect("nothing is there");
    let authority = fs::read_to_string(lab.join(AUTHORITY)).expect("a text");
    create_member(&member, &authority, "identity").expect("nothing is there");
    assert_eq!(names(&member), [AUTHORITY, MACHINE]);
    assert_eq!((mode(&member), mode(&member.join(MACHINE))), (0o700, 0o600));
    assert_eq!(create_member(&member, "", ""), Err(IdentityError::Exists { path: member.clone() }));
    assert_eq!(Authority::of_folder(&member).map(|_| ()), Err(IdentityError::NotAnAuthority));
    write_identity(&member, "renewed").expect("it is this user's");
    assert_eq!(read(&member), Ok(b"renewed".to_vec()));
    assert_eq!(
        (names(&member), mode(&member.join(MACHINE))),
        (vec![AUTHORITY.into(), MACHINE.into()], 0o600)
    );
    let nowhere = write_identity(&folder.join("nowhere"), "renewed");
    assert!(matches!(nowhere, Err(IdentityError::Refused { .. })), "{nowhere:?}");
}

#[test]
fn the_only_cluster_that_was_made_here_needs_no_name() {
    let folder = TempDir::new().expect("a folder");
    let configuration = folder.path().as_os_str().to_owned();
    let environment = move |name: &str| (name == "XDG_CONFIG_HOME").then(|| configuration.clone());
    let home = folder.join("quintet");
    let none = |count| Err(IdentityError::NotOneCluster { home: home.clone(), count });
    assert_eq!(only_cluster(&environment), none(0));
    create_member(&home.join("joined"), "", "").expect("nothing is there");
    assert_eq!(only_cluster(&environment), none(0), "its authority is elsewhere");
    create(&home.join("lab"), "a").expect("nothing is there");
    assert_eq!(only_cluster(&environment), Ok(home.join("lab")));
    create(&home.join("other"), "a").expect("nothing is there");
    assert_eq!(only_cluster(&environment), none(2));
    assert!(none(2).expect_err("two").to_string().contains("--cluster NAME"));
}

#[test]
fn an_agent_says_which_node_it_is() {
    let folder = TempDir::new().expect("a folder");
    assert_eq!(agent_node(folder.path()), Ok(0), "that of the machine where the cluster was made");
    let path = folder.join(AgentFile::NAME);
    for (text, node) in
        [("node = 3\n", Some(3)), ("node = 70000", None), ("node = \"3\"", None), ("", None), ("=", None)]
    {
        let _ = fs::remove_file(&path);
        write_new(&path, text).expect("nothing is there");
        let found = agent_node(folder.path());
        assert_eq!(found.as_ref().ok(), node.as_ref(), "{text}");
        let is_named = |error: &IdentityError| matches!(error, IdentityError::BadAgentFile { path: named, .. } if *named == path);
        assert!(found.err().is_none_or(|error| is_named(&error)), "{text}");
    }
}
