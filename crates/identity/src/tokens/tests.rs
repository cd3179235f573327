use super::*;
use crate::enrolment::hex;
use crate::{DAY, create};
use quintet_testbed::TempDir;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;
use std::thread;
use std::time::UNIX_EPOCH;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A cluster, and the time of its tests.
fn lab() -> (TempDir, PathBuf, SystemTime) {
    let folder = TempDir::new().expect("a folder");
    let lab = folder.join("lab");
    create(&lab, "a").expect("nothing is there");
    (folder, lab, UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

fn new(now: SystemTime) -> NewToken<'static> {
    NewToken { node: 3, allows: Grants::JOIN, now, valid_for: DAY, note: "" }
}

/// A token of that cluster, by the identity that its holder proves.
fn issue(lab: &Path, now: SystemTime) -> [u8; 32] {
    let (token, record) = issue_token(lab, &new(now)).expect("there is room");
    assert_eq!(record.identity, token.identity());
    record.identity
}

fn states(lab: &Path, now: SystemTime) -> Vec<TokenState> {
    tokens(lab, now).expect("they can be read").iter().map(|record| record.state).collect()
}

#[test]
fn a_token_is_kept_without_what_it_proves() {
    let (_folder, lab, now) = lab();
    let allows = Grants { join: true, run: true, code: false };
    let asked = NewToken { allows, note: "for b's new disk: 100 %", ..new(now) };
    let (token, record) = issue_token(&lab, &asked).expect("there is room");
    assert_eq!(
        (token.node(), token.cluster()),
        (3, Authority::of_folder(&lab).expect("one").cluster_number())
    );
    assert_eq!((record.allows, record.until, record.made), (allows, now + DAY, now));
    assert_eq!(tokens(&lab, now), Ok(vec![record.clone()]));
    let file = path(&lab, &record.id(), TokenState::Outstanding);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&lab.join(FOLDER))), (0o600, 0o700));
    let text = fs::read_to_string(&file).expect("a text");
    let plain = token.text().replace('-', "");
    assert!(!text.contains(&plain[plain.len() - 28..]), "the seed stands nowhere: {text}");
    let key = token.key().expect("a key");
    let key = key.lines().skip_while(|line| !line.contains("PRIVATE")).nth(1).expect("its key");
    assert!(!text.contains(key));
}

#[test]
fn a_token_is_used_once_and_a_replay_is_told() {
    let (_folder, lab, now) = lab();
    let identity = issue(&lab, now);
    assert_eq!(outstanding(&lab, &identity, now), Ok(Grants::JOIN));
    assert_eq!(consume(&lab, &identity, now), Ok(Grants::JOIN));
    for later in [now, now + HOUR, now + DAY, now - HOUR] {
        assert_eq!(consume(&lab, &identity, later), Err(TokenError::Used));
        assert_eq!(outstanding(&lab, &identity, later), Err(TokenError::Used));
    }
    assert_eq!(states(&lab, now), [TokenState::Used]);
    let mut other = identity;
    other[31] ^= 1;
    assert_eq!(consume(&lab, &other, now), Err(TokenError::Unknown), "the front alone is no name");
    assert_eq!(consume(&lab, &[7; 32], now), Err(TokenError::Unknown));
}

#[test]
fn of_those_who_use_a_token_at_once_one_succeeds() {
    let (_folder, lab, now) = lab();
    for _ in 0..20 {
        let identity = issue(&lab, now);
        let start = Barrier::new(4);
        let outcomes: Vec<_> = thread::scope(|scope| {
            let consumers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        consume(&lab, &identity, now)
                    })
                })
                .collect();
            consumers.into_iter().map(|consumer| consumer.join().expect("it does not panic")).collect()
        });
        let used = outcomes.iter().filter(|outcome| **outcome == Err(TokenError::Used)).count();
        assert_eq!((outcomes.iter().filter(|outcome| outcome.is_ok()).count(), used), (1, 3), "{outcomes:?}");
    }
}

#[test]
fn a_token_is_revoked_by_the_front_of_its_name() {
    let (_folder, lab, now) = lab();
    let identity = issue(&lab, now);
    let id = id(&identity);
    for bad in ["", "abc", "wxyz", "../..", "0123 "] {
        assert_eq!(revoke_token(&lab, bad), Err(TokenError::BadId), "{bad}");
    }
    let other = if id.starts_with("0000") { "1111" } else { "0000" };
    assert_eq!(revoke_token(&lab, other), Err(TokenError::Unknown));
    let revoked = revoke_token(&lab, &id[..4].to_uppercase()).expect("it is outstanding");
    assert_eq!((revoked.identity, revoked.state), (identity, TokenState::Revoked));
    assert_eq!(consume(&lab, &identity, now), Err(TokenError::Revoked));
    assert_eq!(revoke_token(&lab, &id), Err(TokenError::Revoked));
    assert_eq!(states(&lab, now), [TokenState::Revoked]);

    let used = issue(&lab, now);
    consume(&lab, &used, now).expect("it is outstanding");
    assert_eq!(revoke_token(&lab, &super::id(&used)), Err(TokenError::Used));
}

#[test]
fn two_names_that_begin_alike_are_told_apart_by_more_digits() {
    let (_folder, lab, now) = lab();
    let identity = issue(&lab, now);
    let record = tokens(&lab, now).expect("they can be read").remove(0);
    let mut twin = record.clone();
    twin.identity[7] ^= 1;
    write_new(&path(&lab, &twin.id(), TokenState::Outstanding), &text_of(&twin)).expect("it is free");
    assert_eq!(revoke_token(&lab, &id(&identity)[..14]), Err(TokenError::SeveralOfThatId));
    revoke_token(&lab, &id(&identity)).expect("it is one");
    assert_eq!(consume(&lab, &twin.identity, now), Ok(Grants::JOIN), "the other stays");
}

#[test]
fn a_token_expires_and_a_clock_that_is_set_back_does_not_revive_it() {
    let (_folder, lab, now) = lab();
    let looks: [fn(&Path, &[u8; 32], SystemTime); 3] = [
        |lab, identity, late| assert_eq!(consume(lab, identity, late), Err(TokenError::Expired)),
        |lab, identity, late| assert_eq!(outstanding(lab, identity, late), Err(TokenError::Expired)),
        |lab, _, late| assert_eq!(states(lab, late).last(), Some(&TokenState::Expired)),
    ];
    for look in looks {
        let identity = issue(&lab, now);
        let last = now + DAY - Duration::from_secs(1);
        assert_eq!(outstanding(&lab, &identity, last), Ok(Grants::JOIN));
        look(&lab, &identity, now + DAY);
        assert_eq!(consume(&lab, &identity, now + DAY - HOUR), Err(TokenError::Expired), "it stays so");
    }
}

#[test]
fn before_it_was_made_a_token_is_not_used() {
    let (_folder, lab, now) = lab();
    let identity = issue(&lab, now);
    assert_eq!(consume(&lab, &identity, now - HOUR), Err(TokenError::ClockSetBack));
    assert_eq!(consume(&lab, &identity, now - Duration::from_secs(60)), Ok(Grants::JOIN), "a correction");
}

#[test]
fn what_ended_is_forgotten_a_week_after_its_time() {
    let (_folder, lab, now) = lab();
    let used = issue(&lab, now);
    issue(&lab, now);
    consume(&lab, &used, now).expect("it is outstanding");
    let week = DAY * 7;
    assert_eq!(states(&lab, now + DAY + week - HOUR).len(), 2);
    assert_eq!(states(&lab, now + DAY + week), []);
    assert_eq!(fs::read_dir(lab.join(FOLDER)).expect("it is there").count(), 0);
    assert_eq!(consume(&lab, &used, now), Err(TokenError::Unknown));
}

#[test]
fn a_file_that_was_put_back_revives_nothing() {
    let (_folder, lab, now) = lab();
    let identity = issue(&lab, now);
    let file = path(&lab, &id(&identity), TokenState::Outstanding);
    let copy = fs::read_to_string(&file).expect("a text");
    consume(&lab, &identity, now).expect("it is outstanding");
    write_new(&file, &copy).expect("its name is free");
    assert_eq!(consume(&lab, &identity, now), Err(TokenError::Used));
    assert_eq!(revoke_token(&lab, &id(&identity)), Err(TokenError::Used));
}

#[test]
fn a_file_that_says_something_else_is_named() {
    let (_folder, lab, now) = lab();
    let identity = issue(&lab, now);
    let file = path(&lab, &id(&identity), TokenState::Outstanding);
    let good = fs::read_to_string(&file).expect("a text");
    let until = since_epoch(now + DAY).to_string();
    let bad = [
        String::new(),
        "nonsense".to_owned(),
        good.replace("\"join\"", "\"everything\""),
        good.replace("[\"join\"]", "\"join\""),
        good.replace(&until, "-1"),
        good.replace(&until, "9223372036854775807"),
        good.replace("made_at", "made"),
        good.replace(&hex(&identity), &hex(&[7; 32])),
        good.replace(&hex(&identity), "7"),
    ];
    for text in bad {
        fs::write(&file, &text).expect("it can be written");
        assert_eq!(consume(&lab, &identity, now), Err(TokenError::Damaged { path: file.clone() }), "{text}");
        assert_eq!(tokens(&lab, now), Err(TokenError::Damaged { path: file.clone() }), "{text}");
    }
    fs::write(&file, &good).expect("it can be written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("it is this user's");
    let open = consume(&lab, &identity, now).expect_err("others may read it");
    assert!(open.to_string().contains("chmod 600"), "{open}");
}

#[test]
fn no_token_is_made_that_could_not_be_kept() {
    let (folder, lab, now) = lab();
    for note in ["a\"b", "a\\b", "a\nb", &"x".repeat(101)] {
        assert_eq!(issue_token(&lab, &NewToken { note, ..new(now) }), Err(TokenError::BadNote));
    }
    let long = NewToken { valid_for: DAY * 366, ..new(now) };
    assert_eq!(issue_token(&lab, &long), Err(TokenError::TooLongValid));
    let elsewhere = issue_token(&folder.join("elsewhere"), &new(now));
    assert_eq!(elsewhere, Err(TokenError::Files(IdentityError::NotAnAuthority)));
    assert_eq!(tokens(&lab, now), Ok(vec![]));
    assert_eq!(tokens(&folder.join("elsewhere"), now), Ok(vec![]));
}
