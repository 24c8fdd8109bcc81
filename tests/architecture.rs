//! Calls go one way: ffi -> core -> runtime, over the vocabulary of `base` and `memory`; `unsafe` stays where it belongs.
//! `docs/architecture.md` draws it; this test keeps the drawing true.

use std::path::{Path, PathBuf};

/// A folder (or file) of `src` and the parts of the crate that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("base", &["base"]),
    ("memory", &["base", "memory"]),
    ("sync.rs", &[]),
    ("sync", &[]),
    ("handle", &["base", "handle", "sync"]),
    ("runtime", &["base", "memory", "runtime"]),
    ("core", &["base", "memory", "sync", "core", "runtime"]),
    ("preflight", &["base", "memory", "core", "runtime", "preflight"]),
    ("ffi", &["base", "memory", "sync", "handle", "core", "runtime", "preflight", "ffi"]),
];

/// Where `unsafe` may be: what C hands over, what engines are handed, memory itself, the handle table, and the system calls
/// around the processes in which models are tried.
const MAY_BE_UNSAFE: &[&str] =
    &["ffi", "runtime", "memory", "handle", "sync.rs", "sync/barrier.rs", "preflight/sys.rs"];

fn sources() -> Vec<(PathBuf, String)> {
    sources_of("src")
}

fn sources_of(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    collect(&root, &root, &mut found);
    assert!(found.len() > 30, "the sources were not found");
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).expect("src is readable") {
        let path = entry.expect("src is readable").path();
        if path.is_dir() {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source is UTF-8");
            found.push((path.strip_prefix(root).expect("below src").to_owned(), text));
        }
    }
}

fn part_of(path: &Path) -> String {
    path.components().next().expect("a path has a first part").as_os_str().to_string_lossy().into_owned()
}

/// Code without comments: `//` to the end of its line.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split("//").next().unwrap_or(""))
}

/// The parts of the crate that a line names.
fn used_parts(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::")
        .skip(1)
        .map(|rest| rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or(""))
}

#[test]
fn calls_go_one_way() {
    for (path, text) in sources() {
        let part = part_of(&path);
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == part) else {
            assert!(
                part == "lib.rs",
                "{} belongs to no known part: add it to this test and the drawing",
                path.display()
            );
            continue;
        };
        for used in code(&text).flat_map(used_parts).filter(|used| !used.is_empty()) {
            assert!(allowed.contains(&used), "{} uses crate::{used}, but may only use {allowed:?}", path.display());
        }
    }
}

#[test]
fn the_core_names_no_engine() {
    for (path, text) in sources().into_iter().filter(|(path, _)| part_of(path) == "core") {
        for line in code(&text) {
            for name in ["tflite", "onnxruntime", "OnnxRuntime", "XNNPACK", "libloading", "c_char"] {
                assert!(!line.contains(name), "{} names {name}: that belongs to an adapter or to ffi", path.display());
            }
        }
    }
}

#[test]
fn an_engine_knows_only_itself() {
    for engine in ["tflite", "onnxruntime", "mock"] {
        let others = ["tflite", "onnxruntime", "mock"].into_iter().filter(|other| *other != engine);
        for other in others {
            for (path, text) in
                sources().into_iter().filter(|(path, _)| path.starts_with(Path::new("runtime").join(engine)))
            {
                let named = code(&text).any(|line| line.contains(&format!("::{other}::")));
                assert!(!named, "{} reaches into the engine {other}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_stays_where_it_belongs() {
    // the models of the concurrency core reach into cells on purpose, to see that the model checker notices
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.ends_with("models.rs")) {
        let lines: Vec<_> = text.lines().collect();
        for (number, line) in code(&text).enumerate() {
            if !line.contains("unsafe {") && !line.contains("unsafe impl") {
                continue;
            }
            let place = format!("{}:{}", path.display(), number + 1);
            assert!(MAY_BE_UNSAFE.iter().any(|may| path.starts_with(may)), "{place}: unsafe outside {MAY_BE_UNSAFE:?}");
            let before = &lines[number.saturating_sub(4)..=number];
            assert!(before.iter().any(|line| line.contains("SAFETY")), "{place}: no SAFETY reason");
        }
    }
}

/// The command is a host like any other: it sees what the header declares, in one folder, and the rest of it is safe code.
#[test]
fn the_command_uses_the_c_abi_alone() {
    for (path, text) in sources_of("tool/src") {
        let is_wrapper = path.starts_with("abi");
        for line in code(&text) {
            let inside = line.split("zerobind::").skip(1).all(|used| used.starts_with("ffi::api"));
            assert!(inside && (is_wrapper || !line.contains("zerobind::")), "tool/src/{}: {line}", path.display());
        }
        let lines: Vec<_> = text.lines().collect();
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("unsafe ")) {
            let place = format!("tool/src/{}:{}", path.display(), number + 1);
            let may = is_wrapper || ["files/sys.rs", "bench/allocations.rs"].iter().any(|file| path.ends_with(file));
            assert!(may, "{place}: unsafe: {line}");
            let is_block = line.contains("unsafe {") || line.contains("unsafe impl");
            let reason = lines[number.saturating_sub(4)..=number].iter().any(|line| line.contains("SAFETY"));
            assert!(!is_block || reason, "{place}: no SAFETY reason");
        }
    }
}

/// Ways to allocate that end the process when there is no memory. What grows with a model or with what a host asks for is made
/// by `base::room` instead.
const CANNOT_BE_REFUSED: &[&str] = &[
    "format!(",
    "vec![",
    "with_capacity(",
    ".to_vec()",
    ".collect()",
    ".collect::<",
    ".to_owned()",
    ".to_string()",
    ".into_owned()",
    "String::from(",
    "Arc::from(",
    ".concat()",
];

/// Files where such allocations are, each of a few things only.
const SMALL: &[(&str, &str)] = &[
    ("core/model/mod.rs", "the path of a model, whose length has a limit"),
    ("core/queue/mod.rs", "lists of one"),
    ("core/queue/submit.rs", "one task for each queue that has an executor"),
    ("core/queue/worker.rs", "the name of a thread"),
    ("core/watchdog.rs", "the name of a thread"),
    ("ffi/options.rs", "the path of a helper, whose length has a limit"),
    ("preflight/helper.rs", "in the helper's process: its arguments"),
    ("preflight/listen.rs", "a line of the helper's, which is cut"),
    ("preflight/mod.rs", "the name of a build"),
    ("preflight/report.rs", "a line, which is cut"),
    ("preflight/request.rs", "paths, and the options and shapes of one call; the model's bytes go to a file"),
    ("preflight/search.rs", "the few places where a helper can be"),
    ("preflight/sys.rs", "the path of a file"),
    ("preflight/trial.rs", "in the helper's process: a text"),
    ("preflight/verdict.rs", "the last words of an engine, which are cut"),
    ("runtime/find.rs", "the few places where a library can be"),
    ("runtime/library.rs", "the path of a library"),
    ("runtime/once.rs", "the path of a library"),
    ("runtime/onnxruntime/external.rs", "the folder of a model, whose length has a limit"),
    ("runtime/onnxruntime/model.rs", "a list of one"),
    ("runtime/onnxruntime/walk.rs", "messages inside each other, up to a depth"),
    ("runtime/place.rs", "the path of a folder"),
    ("runtime/tflite/dynamic.rs", "functions that a library lacks"),
    ("runtime/tflite/report.rs", "one line of the engine's, which is cut"),
    ("runtime/tflite/symbols.rs", "functions that a library lacks"),
    ("runtime/tflite/validate/operators.rs", "a table of the known operators"),
    ("runtime/tflite/validate/rules/elementwise.rs", "shapes of at most 16 dimensions"),
    ("runtime/tflite/validate/rules/joins.rs", "shapes of at most 16 dimensions"),
    ("runtime/tflite/validate/rules/reduce.rs", "shapes of at most 16 dimensions"),
    ("runtime/tflite/validate/rules/shapes.rs", "shapes of at most 16 dimensions"),
    ("runtime/tflite/validate/rules/slices.rs", "shapes of at most 16 dimensions"),
];

#[test]
fn what_grows_can_be_refused() {
    let helps_tests = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let names = ["bench.rs", "models.rs", "properties.rs", "stand_in.rs", "stress.rs", "tests.rs", "writer.rs"];
        names.contains(&name) || path.iter().any(|part| part == "tests" || part == "mock")
    };
    let mut used: Vec<&str> = Vec::new();
    let mut others = String::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| !helps_tests(path)) {
        let shipped = text.split("mod tests {").next().unwrap_or("");
        let known = SMALL.iter().find(|(file, _)| path == Path::new(file));
        for line in code(shipped) {
            let Some(way) = CANNOT_BE_REFUSED.iter().find(|way| line.contains(**way)) else { continue };
            match known {
                Some((file, _)) => used.push(file),
                None => others += &format!("{}: `{way}` in `{}`\n", path.display(), line.trim()),
            }
        }
    }
    assert!(others.is_empty(), "where these can grow, use base::room:\n{others}");
    for (file, reason) in SMALL {
        assert!(used.contains(file), "{file} is listed ({reason}), and has no such allocation any more");
    }
}
