//! Which pointers of the header may be NULL. cbindgen cannot be told, so its text is marked here: clang then warns of a NULL
//! where none may be, and Swift sees an optional exactly where there may be none.

/// Parameters that may be NULL, in every function or in one. Every other parameter that is a pointer may not.
const NULLABLE_PARAMETERS: &[&str] = &[
    "options",
    "user_data",
    "buffer",
    "needed",
    "loans",
    "dims",
    "release",
    "callback",
    "zb_release_fn.data",
    "zb_tensor_wrap.data",
    "zb_tensor_wrap_const.data",
    "zb_loan_input.data",
    "zb_loan_input.desc",
    "zb_loan_output.data",
    "zb_loan_output.desc",
    "zb_model_destroy.model",
    "zb_context_destroy.context",
    "zb_tensor_destroy.tensor",
    "zb_queue_destroy.queue",
    "zb_event_destroy.event",
    "tensors",
    "source",
    "destination",
];

/// Fields of structs that may not be NULL. Every other field that is a pointer may, in what a call fills in as well.
const NONNULL_FIELDS: &[&str] = &["zb_option.key", "zb_option.value", "zb_slot_tensor.tensor"];

/// Pointers inside of pointers that are never NULL; those that a call fills in are, before it has.
const NONNULL_INNER: &[&str] = &["zb_slot_info.dim_names"];

/// Types that are pointers without saying so.
const CALLBACKS: &[&str] = &["zb_log_fn", "zb_release_fn", "zb_task_fn", "zb_submit_fn", "zb_complete_fn"];

const LINE_LENGTH: usize = 120;

/// Marks every pointer in the declarations of a header.
pub fn annotate(text: &str) -> String {
    let mut out = String::new();
    let mut structure = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("typedef struct ").and_then(|rest| rest.strip_suffix(" {")) {
            structure = Some(name.to_owned());
        } else if line.starts_with('}') {
            structure = None;
        }
        let marked = match &structure {
            Some(name) if line.ends_with(';') => field(name, line),
            None if begins_declaration(line) => {
                let mut whole = line.to_owned();
                while !whole.ends_with([';', '{']) {
                    let next = lines.next().expect("a declaration ends").trim_start();
                    whole.push_str(if whole.ends_with('(') { "" } else { " " });
                    whole.push_str(next);
                }
                prototype(&whole)
            }
            _ => line.to_owned(),
        };
        out.push_str(marked.trim_end());
        out.push('\n');
    }
    out
}

/// Whether the declaration of a function or of a function's type begins on this line.
fn begins_declaration(line: &str) -> bool {
    let is_function = ["zb_", "const char *zb_", "uint32_t zb_", "uint64_t zb_", "ZB_MUST_USE", "static inline"];
    let is_type = line.starts_with("typedef ") && line.contains("(*");
    is_type || is_function.iter().any(|start| line.starts_with(start))
}

/// A declaration of a function or of a function's type with its pointers marked, laid out in lines of bearable length.
fn prototype(whole: &str) -> String {
    // the parameters are in the last parentheses of a function's type as in those of a function
    let open = whole.rfind('(').expect("a declaration of a function has parameters");
    let close = whole.rfind(')').expect("parentheses are closed");
    let (before, after) = (&whole[..open], &whole[close..]);
    let name = before.rsplit([' ', '*']).next().unwrap_or_default().trim_end_matches(')').to_owned();
    let before = if before.contains("(*") { before.to_owned() } else { result(before) };
    let marked: Vec<_> = whole[open + 1..close]
        .split(',')
        .map(|parameter| {
            let parameter = parameter.trim();
            let outer = !may_be_null(&name, variable(parameter));
            pointers(parameter, outer, false)
        })
        .collect();
    lay_out(&before, &marked, after)
}

/// What is in front of a function's name: texts that are returned are never NULL.
fn result(before: &str) -> String {
    before.replacen('*', "*ZB_NONNULL ", 1)
}

fn lay_out(before: &str, parameters: &[String], after: &str) -> String {
    let whole = format!("{before}({}{after}", parameters.join(", "));
    if whole.len() <= LINE_LENGTH {
        return whole;
    }
    let (prefix, before) = match before.strip_prefix("ZB_MUST_USE ") {
        Some(rest) => ("ZB_MUST_USE\n", rest),
        None => ("", before),
    };
    let indented = format!(",\n{}", " ".repeat(before.len() + 1));
    format!("{prefix}{before}({}{after}", parameters.join(&indented))
}

fn field(structure: &str, line: &str) -> String {
    let name = format!("{structure}.{}", variable(line));
    pointers(line, NONNULL_FIELDS.contains(&name.as_str()), NONNULL_INNER.contains(&name.as_str()))
}

/// The name that is declared: the last word, without the size of an array.
fn variable(declaration: &str) -> &str {
    let declaration = declaration.trim_end_matches(';');
    let declaration = declaration.split('[').next().unwrap_or(declaration);
    declaration.rsplit([' ', '*']).next().unwrap_or_default()
}

/// Marks the pointers of one variable: the outer one, next to its name, and those that it points to.
fn pointers(declaration: &str, outer: bool, inner: bool) -> String {
    let mark = |nonnull| if nonnull { "ZB_NONNULL" } else { "ZB_NULLABLE" };
    let trimmed = declaration.trim_start();
    if let Some(callback) = CALLBACKS.iter().find(|name| trimmed.starts_with(&format!("{name} "))) {
        return declaration.replacen(callback, &format!("{callback} {}", mark(outer)), 1);
    }
    let parts: Vec<_> = declaration.split('*').collect();
    let last = parts.len() - 1;
    let mut out = parts[0].to_owned();
    for (at, part) in parts.iter().enumerate().skip(1) {
        let space = if part.is_empty() || part.starts_with(' ') { "" } else { " " };
        out.push_str(&format!("*{}{space}{part}", mark(if at == last { outer } else { inner })));
        if at < last && part.is_empty() {
            out.push(' ');
        }
    }
    out
}

fn may_be_null(function: &str, parameter: &str) -> bool {
    if parameter.ends_with("_or_null") {
        return true;
    }
    let is_init = parameter == "options" && function.ends_with("_init");
    let full = format!("{function}.{parameter}");
    !is_init && (NULLABLE_PARAMETERS.contains(&parameter) || NULLABLE_PARAMETERS.contains(&full.as_str()))
}

#[test]
fn parameters_are_marked() {
    for (given, marked) in [
        (
            "zb_status zb_x(zb_model *model, const char *path_or_null, zb_model **out);",
            "zb_status zb_x(zb_model *ZB_NONNULL model, const char *ZB_NULLABLE path_or_null, \
             zb_model *ZB_NULLABLE *ZB_NONNULL out);",
        ),
        (
            "ZB_MUST_USE\nzb_status zb_tensor_wrap(void *data,\n    zb_release_fn release,\n    int *x);",
            "ZB_MUST_USE zb_status zb_tensor_wrap(void *ZB_NULLABLE data, zb_release_fn ZB_NULLABLE release, \
             int *ZB_NONNULL x);",
        ),
        ("const char *zb_x(int32_t y);", "const char *ZB_NONNULL zb_x(int32_t y);"),
        (
            "typedef int32_t (*zb_submit_fn)(void *user_data, zb_task_fn run, void *task);",
            "typedef int32_t (*zb_submit_fn)(void *ZB_NULLABLE user_data, zb_task_fn ZB_NONNULL run, \
             void *ZB_NONNULL task);",
        ),
    ] {
        assert_eq!(annotate(given).trim_end(), marked);
    }
}

#[test]
fn fields_are_marked() {
    let given = "typedef struct zb_slot_info {\n  const char *name;\n  const char *const *dim_names;\n  uint8_t x[32];\n} \
                 zb_slot_info;\ntypedef struct zb_option {\n  const char *key;\n} zb_option;";
    let marked = "typedef struct zb_slot_info {\n  const char *ZB_NULLABLE name;\n  const char *ZB_NONNULL const *ZB_NULLABLE \
                  dim_names;\n  uint8_t x[32];\n} zb_slot_info;\ntypedef struct zb_option {\n  const char *ZB_NONNULL key;\n} \
                  zb_option;";
    assert_eq!(annotate(given).trim_end(), marked);
}
