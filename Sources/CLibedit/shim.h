#pragma once
#include <stdio.h>
#include <histedit.h>

/// Variadic functions cannot be called from Swift: these are the calls that are needed.

typedef unsigned char (*hearth_el_function)(EditLine *, int);
typedef char *(*hearth_el_prompt)(EditLine *);

/// On the standard streams, which Swift does not give out.
static inline EditLine *hearth_el_init(void) { return el_init("hearth", stdin, stdout, stderr); }

static inline void hearth_el_set_prompt(EditLine *el, hearth_el_prompt prompt, char escape) {
    el_set(el, EL_PROMPT_ESC, prompt, escape);
}
static inline void hearth_el_set_client_data(EditLine *el, void *data) { el_set(el, EL_CLIENTDATA, data); }
static inline void *hearth_el_client_data(EditLine *el) {
    void *data = 0;
    el_get(el, EL_CLIENTDATA, &data);
    return data;
}
static inline void hearth_el_use_emacs_keys(EditLine *el) { el_set(el, EL_EDITOR, "emacs"); }
static inline void hearth_el_use_history(EditLine *el, History *list) { el_set(el, EL_HIST, history, list); }
static inline void hearth_el_add_function(EditLine *el, const char *name, hearth_el_function function) {
    el_set(el, EL_ADDFN, name, name, function);
}
static inline void hearth_el_bind(EditLine *el, const char *key, const char *name) {
    el_set(el, EL_BIND, key, name, NULL);
}
/// The interrupt key is a key like others while a line is edited, and changes of the window's size are seen to.
static inline void hearth_el_take_interrupts(EditLine *el) {
    el_set(el, EL_SIGNAL, 1);
    el_set(el, EL_SETTY, "-d", "-isig", NULL);
}

/// From now on the editor, not the terminal, shows what is typed.
static inline void hearth_el_prepare(EditLine *el) { el_set(el, EL_PREP_TERM, 1); }

/// The opposite.
static inline void hearth_el_release(EditLine *el) { el_set(el, EL_PREP_TERM, 0); }

static inline void hearth_history_set_size(History *list, int size) {
    HistEvent event;
    history(list, &event, H_SETSIZE, size);
    history(list, &event, H_SETUNIQUE, 1);
}
static inline int hearth_history_load(History *list, const char *file) {
    HistEvent event;
    return history(list, &event, H_LOAD, file);
}
static inline int hearth_history_save(History *list, const char *file) {
    HistEvent event;
    return history(list, &event, H_SAVE, file);
}
static inline void hearth_history_enter(History *list, const char *line) {
    HistEvent event;
    history(list, &event, H_ENTER, line);
}
