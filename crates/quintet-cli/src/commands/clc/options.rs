//! The command line of a C compiler, as far as it is understood here; the rest is handed on.

use quintet::{Code, Error};
use quintet_clinda::{Hoist, Optimisations};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Nothing: only what is wrong is told.
    Check,
    /// C.
    EmitC,
    /// Objects.
    Compile,
    /// A program.
    Link,
}

/// What the source is called that comes from the standard input, as a C compiler calls it.
pub(super) const STANDARD_INPUT: &str = "<stdin>";

/// A file that is compiled or linked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Input {
    Clinda(PathBuf),
    C(PathBuf),
    /// An object or a library.
    Object(PathBuf),
}

impl Input {
    fn path(&self) -> &Path {
        match self {
            Input::Clinda(path) | Input::C(path) | Input::Object(path) => path,
        }
    }
}

/// The command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Options {
    pub(super) stage: Stage,
    pub(super) inputs: Vec<Input>,
    pub(super) output: Option<PathBuf>,
    /// For the preprocessor: -I, -D and the like.
    pub(super) preprocess: Vec<OsString>,
    /// What the preprocessor writes of dependencies: -MMD and the like.
    pub(super) dependencies: Vec<OsString>,
    /// For the compiler; also for the preprocessor and the linker, as -std and -g may matter to them.
    pub(super) compile: Vec<OsString>,
    /// For the linker, in their order: -l, -L, -Wl.
    pub(super) link: Vec<OsString>,
    /// Whether operations are begun earlier than they are written.
    pub(super) hoists: bool,
    /// Whether an `in` and the `out`s behind it are one request where they can be.
    pub(super) fuses: bool,
    /// Whether a program tells its space by which fields its tuples can be spread.
    pub(super) declares_keys: bool,
    pub(super) analysis: bool,
    pub(super) json: bool,
}

/// Options that have a value of their own behind them, and where they go.
const WITH_VALUES: [(&str, Goes); 32] = [
    ("-I", Goes::Preprocess),
    ("-D", Goes::Preprocess),
    ("-U", Goes::Preprocess),
    ("-include", Goes::Preprocess),
    ("-isystem", Goes::Preprocess),
    ("-iquote", Goes::Preprocess),
    ("-idirafter", Goes::Preprocess),
    ("-imacros", Goes::Preprocess),
    ("-iprefix", Goes::Preprocess),
    ("-iwithprefix", Goes::Preprocess),
    ("-iwithprefixbefore", Goes::Preprocess),
    ("-isysroot", Goes::Preprocess),
    ("-A", Goes::Preprocess),
    ("-Xpreprocessor", Goes::Preprocess),
    ("-B", Goes::Compile),
    ("-Xassembler", Goes::Compile),
    ("-Xclang", Goes::Compile),
    ("-mllvm", Goes::Compile),
    ("-target", Goes::Compile),
    ("-arch", Goes::Compile),
    ("-wrapper", Goes::Compile),
    ("--param", Goes::Compile),
    ("-MF", Goes::Dependencies),
    ("-MT", Goes::Dependencies),
    ("-MQ", Goes::Dependencies),
    ("-l", Goes::Link),
    ("-L", Goes::Link),
    ("-Xlinker", Goes::Link),
    ("-u", Goes::Link),
    ("-T", Goes::Link),
    ("-z", Goes::Link),
    ("-e", Goes::Link),
];

#[derive(Clone, Copy)]
enum Goes {
    Preprocess,
    Dependencies,
    Compile,
    Link,
}

fn bad(text: String) -> Error {
    Error::new(Code::BadValue, text)
}

impl Options {
    /// Reads a command line.
    ///
    /// # Errors
    /// It names no file, or one for both input and output; an option has no value.
    pub(super) fn parse(arguments: &[OsString]) -> Result<Options, Error> {
        let mut options = Options {
            stage: Stage::Link,
            inputs: Vec::new(),
            output: None,
            preprocess: Vec::new(),
            dependencies: Vec::new(),
            compile: Vec::new(),
            link: Vec::new(),
            hoists: false,
            fuses: false,
            declares_keys: true,
            analysis: false,
            json: false,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            options.take(argument, &mut rest)?;
        }
        options.check()?;
        Ok(options)
    }

    fn take<'a>(
        &mut self,
        argument: &OsString,
        rest: &mut impl Iterator<Item = &'a OsString>,
    ) -> Result<(), Error> {
        let text = argument.to_string_lossy();
        let mut value =
            || rest.next().cloned().ok_or_else(|| bad(format!("{text} has to be followed by a value")));
        if let Some((_, goes)) = WITH_VALUES.iter().find(|(name, _)| *name == text) {
            let value = value()?;
            self.list(*goes).extend([argument.clone(), value]);
            return Ok(());
        }
        match text.as_ref() {
            "-c" => self.stage = Stage::Compile,
            "--check" => self.stage = Stage::Check,
            "--emit-c" => self.stage = Stage::EmitC,
            "-fhoist" => self.hoists = true,
            "-fno-hoist" | "--no-hoist" => self.hoists = false,
            "-ffuse" => self.fuses = true,
            "-fno-fuse" | "--no-fuse" => self.fuses = false,
            "-fkeys" => self.declares_keys = true,
            "-fno-keys" | "--no-keys" => self.declares_keys = false,
            "--analysis" => self.analysis = true,
            "--json" => self.json = true,
            "-x" => check_language(&value()?.to_string_lossy())?,
            _ if text.starts_with("-x") => check_language(&text[2..])?,
            "-o" => self.output = Some(value()?.into()),
            "-E" | "-S" => {
                return Err(bad(format!(
                    "{text} is not there: --emit-c writes the C, and cc goes on from that"
                )));
            }
            "-M" | "-MM" => {
                return Err(bad(format!(
                    "{text} is not there: -MD and -MMD write the dependencies beside the object"
                )));
            }
            _ if text.starts_with("-o") => self.output = Some(PathBuf::from(&text[2..])),
            _ if ["-I", "-D", "-U"].iter().any(|name| text.starts_with(name)) => {
                self.preprocess.push(argument.clone());
            }
            _ if text.starts_with("-M") => self.dependencies.push(argument.clone()),
            _ if ["-l", "-L", "-Wl,"].iter().any(|name| text.starts_with(name)) => {
                self.link.push(argument.clone());
            }
            "-" => self.inputs.push(Input::Clinda(STANDARD_INPUT.into())),
            _ if text.starts_with("--") => {
                return Err(bad(format!(
                    "{text} is no option of quintet clc, nor one of a C compiler that it hands on"
                )));
            }
            _ if text.starts_with('-') => self.compile.push(argument.clone()),
            _ => self.inputs.push(input(argument)),
        }
        Ok(())
    }

    fn list(&mut self, goes: Goes) -> &mut Vec<OsString> {
        match goes {
            Goes::Preprocess => &mut self.preprocess,
            Goes::Dependencies => &mut self.dependencies,
            Goes::Compile => &mut self.compile,
            Goes::Link => &mut self.link,
        }
    }

    fn check(&self) -> Result<(), Error> {
        if self.inputs.is_empty() {
            return Err(bad("there is no file to compile: name a .cl file".to_owned()));
        }
        let inputs = self.inputs.iter().filter(|input| input.path() == Path::new(STANDARD_INPUT)).count();
        if inputs > 1 || (inputs == 1 && self.stage != Stage::Check) {
            let text = "- is the standard input, once, for --check; else name a file";
            return Err(bad(text.to_owned()));
        }
        let makes_several = matches!(self.stage, Stage::Compile | Stage::EmitC) && self.inputs.len() > 1;
        if let Some(output) = self.output.as_ref().filter(|_| makes_several) {
            let text = format!("-o {} names one file, and several would be made", output.display());
            return Err(bad(text));
        }
        if self.has_dependencies() && self.says("-MF") && self.compiled().count() > 1 {
            return Err(bad("-MF names one file, and several would be written: leave it out".to_owned()));
        }
        let is_overwritten =
            |output: &&PathBuf| self.inputs.iter().any(|input| is_same(input.path(), output));
        if let Some(output) = self.output.as_ref().filter(is_overwritten) {
            let text = format!("-o {} would overwrite an input: name another file", output.display());
            return Err(bad(text));
        }
        if self.json && !matches!(self.stage, Stage::Check) && !self.analysis {
            return Err(bad("--json says what --check or --analysis found: give one of them".to_owned()));
        }
        Ok(())
    }

    /// The sources in C-Linda.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Path> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Clinda(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// The sources of objects.
    pub(super) fn compiled(&self) -> impl Iterator<Item = &Path> {
        self.inputs.iter().filter(|input| !matches!(input, Input::Object(_))).map(Input::path)
    }

    /// Whether dependencies are written.
    pub(super) fn has_dependencies(&self) -> bool {
        self.dependencies.iter().any(|option| option == "-MD" || option == "-MMD")
    }

    /// Whether there is an option for dependencies of this name; its value may be behind it or in the same word.
    pub(super) fn says(&self, name: &str) -> bool {
        self.dependencies.iter().any(|option| option.to_string_lossy().starts_with(name))
    }

    /// Whether no warning is wanted.
    pub(super) fn has_no_warnings(&self) -> bool {
        self.compile.iter().any(|option| option == "-w")
    }

    /// What the written C does otherwise than the sources say, where nobody can tell.
    pub(super) fn optimisations(&self) -> Optimisations {
        Optimisations { hoist: self.hoist(), fuses: self.fuses }
    }

    /// What is begun early: reads only where all sources of a program are there, as another one may take what they find.
    fn hoist(&self) -> Hoist {
        match (self.hoists, self.is_whole()) {
            (false, _) => Hoist::Nothing,
            (true, false) => Hoist::Puts,
            (true, true) => Hoist::PutsAndReads,
        }
    }

    /// Whether all sources of a program are there, so that how it uses its tuples is known before it is compiled.
    pub(super) fn is_whole(&self) -> bool {
        let has_objects = self.inputs.iter().any(|input| !matches!(input, Input::Clinda(_)));
        matches!(self.stage, Stage::Link | Stage::Check) && !has_objects
    }
}

/// The end of a file's name says its language: C may be named, but nothing else.
fn check_language(name: &str) -> Result<(), Error> {
    match name {
        "c" | "none" => Ok(()),
        _ => Err(bad(format!(
            "-x {name} is not there: files that end with .cl are C-Linda, with .c they are C"
        ))),
    }
}

/// Whether two paths name one file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn input(argument: &OsString) -> Input {
    let path = PathBuf::from(argument);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("cl") => Input::Clinda(path),
        Some("c") => Input::C(path),
        _ => Input::Object(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_go_where_a_c_compiler_has_them() {
        let line = "-O2 -I inc -DN=3 -c a.cl -oa.o -MMD -MF a.d -lm -L lib -Wl,-x -Wall";
        let options = parse(line).unwrap();
        assert_eq!(options.stage, Stage::Compile);
        assert_eq!(options.inputs, [Input::Clinda("a.cl".into())]);
        assert_eq!(options.output, Some("a.o".into()));
        assert_eq!(options.preprocess, ["-I", "inc", "-DN=3"]);
        assert_eq!(options.dependencies, ["-MMD", "-MF", "a.d"]);
        assert_eq!(options.link, ["-lm", "-L", "lib", "-Wl,-x"]);
        assert_eq!(options.compile, ["-O2", "-Wall"]);
    }

    #[test]
    fn values_of_options_are_no_files() {
        let line = "-x c -xnone a.cl -z relro -Xlinker -x -B lib --param a=1 -isysroot sys -Xassembler -q";
        let options = parse(line).unwrap();
        assert_eq!(options.inputs, [Input::Clinda("a.cl".into())]);
        assert_eq!(options.link, ["-z", "relro", "-Xlinker", "-x"]);
        assert_eq!(options.compile, ["-B", "lib", "--param", "a=1", "-Xassembler", "-q"]);
        assert_eq!(options.preprocess, ["-isysroot", "sys"]);
    }

    #[test]
    fn reads_are_begun_early_where_all_sources_are_there() {
        let hoist = |line: &str| parse(line).unwrap().hoist();
        assert_eq!([hoist("a.cl"), hoist("-fhoist -fno-hoist a.cl")], [Hoist::Nothing; 2]);
        assert_eq!([hoist("-fhoist a.cl b.cl"), hoist("-fhoist --check a.cl")], [Hoist::PutsAndReads; 2]);
        let parts = ["-fhoist -c a.cl", "-fhoist a.cl b.o", "-fhoist --emit-c a.cl"];
        assert_eq!(parts.map(hoist), [Hoist::Puts; 3]);
        assert_eq!(parse("-fhoist -ffuse -fPIC a.cl").unwrap().compile, ["-fPIC"]);
    }

    #[test]
    fn takes_and_puts_are_fused_if_that_is_asked_for() {
        let fuses = |line: &str| parse(line).unwrap().optimisations().fuses;
        assert!(fuses("-ffuse -c a.cl") && fuses("-fno-fuse -ffuse a.cl"));
        assert!(!fuses("-fhoist a.cl") && !fuses("-ffuse --no-fuse a.cl"));
    }

    #[test]
    fn keys_are_declared_unless_that_is_not_wanted() {
        let declares = |line: &str| parse(line).unwrap().declares_keys;
        assert!(declares("a.cl") && declares("-fno-keys -fkeys a.o"));
        assert!(!declares("a.cl --no-keys") && !declares("-fkeys -fno-keys a.cl"));
    }

    #[test]
    fn a_program_is_whole_if_all_of_it_is_source() {
        assert!(parse("a.cl b.cl").unwrap().is_whole());
        assert!(!parse("a.cl b.o").unwrap().is_whole());
        assert!(!parse("-c a.cl").unwrap().is_whole());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let refused = |line: &str, words: &str| {
            let text = parse(line).unwrap_err().text().to_owned();
            assert!(text.contains(words), "{text}");
        };
        refused("-c", "no file");
        for line in ["-", "-c -", "--check - -"] {
            refused(line, "- is the standard input, once, for --check");
        }
        refused("a.cl -o", "followed by a value");
        refused("-c a.cl b.cl -o x.o", "several would be made");
        refused("--frobnicate a.cl", "no option");
        refused("-E a.cl", "--emit-c");
        refused("-MM a.cl", "-MMD");
        refused("a.cl b.o -o a.cl", "overwrite");
        refused("--emit-c a.cl -oa.cl", "overwrite");
        refused("--json a.cl", "--check");
        refused("-x c++ a.cl", "-x c++ is not there");
        refused("-xassembler a.cl", "-x assembler is not there");
        refused("-MMD -MF a.d a.cl b.c", "-MF names one file");
        refused("-MMD -MFa.d a.cl b.c", "-MF names one file");
    }
}
