//! `quintet clc`: compiles C-Linda, and is used like a C compiler.
//!
//! | file | holds |
//! | --- | --- |
//! | `clc.rs` | the steps: read this first |
//! | `clc/options.rs` | the command line of a C compiler |
//! | `clc/toolchain.rs` | the C compiler itself |
//! | `clc/library.rs` | where `libquintet` is |
//! | `clc/objects.rs` | what objects say of the program that they are to be |
//! | `clc/compiler_said.rs` | what the C compiler says, as diagnostics |
//! | `clc/report.rs` | what is said, to people and as JSON |

mod compiler_said;
mod library;
mod objects;
mod options;
mod report;
mod toolchain;

use crate::connection::refused;
use clap::Args;
use compiler_said::CompilerSaid;
use options::{Input, Options, STANDARD_INPUT, Stage};
use quintet::{Code, Error};
use quintet_clinda::{Diagnostic, Expanded, MAX_SOURCE_BYTES, Program, Source, Unit, Whole, runtime};
use report::Report;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::TempDir;
use toolchain::Toolchain;

#[derive(Args)]
#[command(
    after_help = "Takes the options of a C compiler, and hands those on that are not its own: -c, -o FILE, -I, -D, -U, -l, -L, -O, -g, -W, -std, -MMD. Inputs are .cl files, and .c, .o and .a files for the C compiler. CC names that; else it is cc. PKG_CONFIG_PATH says where libquintet is (docs/c.md).\n\n--emit-c writes the C instead of compiling it: NAME.c for each NAME.cl, or the file that -o names. --check compiles nothing, and tells what is wrong, also with a source from the standard input: - in the place of its file. --analysis tells which tuples there are and how each kind is used. -fhoist begins operations earlier than they are written, where nobody can tell; --no-hoist does not, as without it. -ffuse makes one request of an in and the outs directly behind it, where what they put is known before; --no-fuse does not, as without it. --no-keys has the program declare no keys to a space with several managers. --json prints one JSON object.\n\nExits with 1 if something is wrong with the program.\n\nExamples:\n  quintet clc jmatrix.cl -o jmatrix && quintet run -n 5 ./jmatrix 30 5\n  quintet clc -O2 -Wall -c worker.cl && quintet clc main.cl worker.o -lm -o program\n  quintet clc --emit-c jmatrix.cl\n  quintet clc --check --json jmatrix.cl\n  quintet clc --check --json - < jmatrix.cl"
)]
pub(crate) struct Arguments {
    /// Sources, objects, and options of a C compiler
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "FILES AND OPTIONS"
    )]
    arguments: Vec<OsString>,
}

impl Arguments {
    /// Whether a program reads what it prints.
    pub(crate) fn is_for_a_program(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--json")
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let options = Options::parse(&arguments.arguments)?;
    let folder = tempfile::Builder::new().prefix("clinda-").tempdir().map_err(refused("make a folder"))?;
    let toolchain = Toolchain::new();
    let mut report = Report::default();
    let units = read_all(&options, &toolchain, &mut report)?;
    let Some(units) = units else { return report.finish(&options, None) };
    let program = Program::new(units);
    let mut whole = program.whole();
    if options.stage == Stage::Check && options.is_whole() {
        report.extend(whole.check());
    }
    if report.has_errors() {
        return report.finish(&options, Some(&whole));
    }
    let succeeded = match options.stage {
        Stage::EmitC => write_c(&options, &program).map(|()| true)?,
        Stage::Check if options.json => {
            Compilation::new(&options, &toolchain, &folder)?.diagnose(&program, &mut report)?
        }
        Stage::Check => Compilation::new(&options, &toolchain, &folder)?.check(&program)?,
        Stage::Compile => Compilation::new(&options, &toolchain, &folder)?.objects(&program)?.is_some(),
        Stage::Link => {
            let compilation = Compilation::new(&options, &toolchain, &folder)?;
            let (succeeded, linked) = link(&compilation, &program, &mut report)?;
            whole = linked.unwrap_or(whole);
            succeeded
        }
    };
    report.compiler_succeeded = succeeded;
    report.finish(&options, Some(&whole))
}

/// Makes a program, if nothing is wrong with its files together; and what they are together, if that is known.
fn link(
    compilation: &Compilation<'_>,
    program: &Program,
    report: &mut Report,
) -> Result<(bool, Option<Whole>), Error> {
    let Some(objects) = compilation.objects(program)? else { return Ok((false, None)) };
    let whole = objects::whole(&objects)?;
    report.extend(whole.as_ref().map(Whole::check).unwrap_or_default());
    let declared = whole.as_ref().filter(|_| compilation.options.declares_keys);
    let succeeded = !report.has_errors() && compilation.link(&objects, declared)?;
    Ok((succeeded, whole))
}

/// Reads and checks every .cl file; none if something is wrong with one.
fn read_all(
    options: &Options,
    toolchain: &Toolchain,
    report: &mut Report,
) -> Result<Option<Vec<Unit>>, Error> {
    let mut units = Vec::new();
    for path in options.sources() {
        match read(path, options, toolchain)? {
            Ok(unit) => units.push(unit),
            Err(diagnostics) => report.extend(diagnostics),
        }
    }
    Ok((!report.has_errors()).then_some(units))
}

fn read(
    path: &Path,
    options: &Options,
    toolchain: &Toolchain,
) -> Result<Result<Unit, Vec<Diagnostic>>, Error> {
    let content =
        content(path).map_err(|error| Error::new(Code::BadFile, format!("{}: {error}", path.display())))?;
    let again = is_standard_input(path).then(|| content.clone());
    let name = path.to_string_lossy().into_owned();
    let source = match Source::new(name, content) {
        Ok(source) => source,
        Err(diagnostic) => return Ok(Err(vec![*diagnostic])),
    };
    let expanded = Expanded::new(toolchain.preprocess(path, again.as_deref(), options)?);
    Ok(Unit::read(source, &expanded))
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // One byte more than is allowed shows that there are too many.
    let most = MAX_SOURCE_BYTES as u64 + 1;
    match is_standard_input(path) {
        true => std::io::stdin().take(most).read_to_end(&mut content)?,
        false => File::open(path)?.take(most).read_to_end(&mut content)?,
    };
    Ok(content)
}

/// The name of the C of a source: beside nothing, in the working folder.
fn c_name(source: &Path) -> PathBuf {
    Path::new(source.file_name().unwrap_or_default()).with_extension("c")
}

fn write_c(options: &Options, program: &Program) -> Result<(), Error> {
    for (source, text) in options.sources().zip(program.emit_optimised(options.optimisations())) {
        let path = options.output.clone().unwrap_or_else(|| c_name(source));
        write(&path, &text)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|error| Error::new(Code::BadFile, format!("{}: {error}", path.display())))
}

/// The file in which a whole program tells of itself.
const WHOLE_NAME: &str = "whole.c";

/// What compiles written C, and where.
struct Compilation<'a> {
    options: &'a Options,
    toolchain: &'a Toolchain,
    folder: &'a Path,
}

impl<'a> Compilation<'a> {
    /// The header of the run-time lies in the folder from now on.
    fn new(
        options: &'a Options,
        toolchain: &'a Toolchain,
        folder: &'a TempDir,
    ) -> Result<Compilation<'a>, Error> {
        write(&folder.path().join(runtime::HEADER.name), runtime::HEADER.text)?;
        Ok(Compilation { options, toolchain, folder: folder.path() })
    }

    /// Writes the C of each source to a file of the folder.
    fn written(&self, program: &Program) -> Result<Vec<(&Path, PathBuf)>, Error> {
        let texts =
            self.options.sources().zip(program.emit_optimised(self.options.optimisations())).enumerate();
        let write_one = |(number, (source, text)): (usize, (&'a Path, String))| {
            let folder = self.folder.join(number.to_string());
            fs::create_dir_all(&folder).map_err(refused("make a folder"))?;
            let path = folder.join(c_name(source));
            write(&path, &text)?;
            Ok((source, path))
        };
        texts.map(write_one).collect()
    }

    /// Has the C compiler look for what is wrong.
    fn check(&self, program: &Program) -> Result<bool, Error> {
        let mut succeeded = true;
        for (source, path) in self.written(program)? {
            succeeded &= self.toolchain.compile(source, &path, None, self.folder, self.options)?;
        }
        Ok(succeeded)
    }

    /// The same, and reports what is wrong.
    fn diagnose(&self, program: &Program, report: &mut Report) -> Result<bool, Error> {
        let mut succeeded = true;
        for (source, path) in self.written(program)? {
            let (is_good, text) =
                self.toolchain.look_for_mistakes(source, &path, self.folder, self.options)?;
            let name = source.to_string_lossy();
            let unit = program.units().iter().find(|unit| unit.source().name() == name);
            let line_of =
                |file: &str, line| (file == name).then(|| Some(unit?.source().line_text(line))).flatten();
            let said = CompilerSaid::read(&text, line_of);
            report.extend(said.diagnostics);
            report.show(&said.other);
            succeeded &= is_good;
        }
        Ok(succeeded)
    }

    /// Compiles each source to the object that the command line names, or to one in the folder if there is more to do; none if that fails.
    fn objects(&self, program: &Program) -> Result<Option<Vec<PathBuf>>, Error> {
        let mut objects = Vec::new();
        let mut written = self.written(program)?.into_iter();
        for input in &self.options.inputs {
            let source = match input {
                Input::Clinda(_) => written.next(),
                Input::C(source) => Some((source.as_path(), source.clone())),
                Input::Object(object) => {
                    objects.push(object.clone());
                    None
                }
            };
            let Some((source, path)) = source else { continue };
            let object = self.object(source, objects.len());
            if !self.toolchain.compile(source, &path, Some(&object), self.folder, self.options)? {
                return Ok(None);
            }
            objects.push(object);
        }
        Ok(Some(objects))
    }

    /// Where the object of a source goes, which has this number among all objects.
    fn object(&self, source: &Path, number: usize) -> PathBuf {
        match (self.options.stage, &self.options.output) {
            (Stage::Compile, Some(output)) => output.clone(),
            (Stage::Compile, None) => c_name(source).with_extension("o"),
            _ => self.folder.join(format!("{number}.o")),
        }
    }

    /// Makes a program of objects, with the run-time and what is known of all of them together.
    fn link(&self, objects: &[PathBuf], whole: Option<&Whole>) -> Result<bool, Error> {
        write(&self.folder.join(runtime::INTERNAL_HEADER.name), runtime::INTERNAL_HEADER.text)?;
        let mut parts = Vec::new();
        let told = whole.cloned().unwrap_or_default().emit();
        let files = runtime::FILES.map(|file| (file.name, file.text));
        for (name, text) in files.into_iter().chain([(WHOLE_NAME, told.as_str())]) {
            let path = self.folder.join(name);
            write(&path, text)?;
            let object = path.with_extension("o");
            self.toolchain.compile_runtime(&path, &object)?;
            parts.push(object);
        }
        let archive = self.folder.join("libclinda.a");
        self.toolchain.archive(&archive, &parts)?;
        let output = self.options.output.clone().unwrap_or_else(|| PathBuf::from("a.out"));
        self.toolchain.link(objects, &archive, &output, self.options)
    }
}
