import HearthExampleKit
import HearthExampleTerminal

/// Threads and their messages: what the command line can do, and where the screen begins.
let threadsProgram = Program(
    "hearth-threads", "Message threads of all users, by way of hearth-threads-service.",
    server: "http://127.0.0.1:8080",
    commands: [
        .init("sign-up FIRST LAST EMAIL", "makes an account and logs in; asks for the password") { call in
            let session = try Session(call)
            let password = try call.askPassword()
            try await session.signUp(
                firstName: call.required("FIRST"), lastName: call.required("LAST"), email: call.required("EMAIL"),
                password: password, confirmation: password)
            say("Welcome, \(session.member?.creator.name ?? "").")
        },
        .init("log-in EMAIL", "logs in; asks for the password") { call in
            let session = try Session(call)
            try await session.logIn(email: call.required("EMAIL"), password: try call.askPassword())
            say("Welcome back, \(session.member?.creator.name ?? "").")
        },
        .init("log-out", "logs out") { call in try Session(call).logOut() },
        .init("threads", "prints the threads of all users, the newest first") { call in
            for thread in try await threads(call).threads ?? [] {
                say("\(thread.title.padded(to: 30))  \(thread.creator.name.padded(to: 20))  \(thread.created)")
            }
        },
        .init("add TITLE", "begins a thread") { call in
            try await ThreadList(try Session(call)).add(title: call.required("TITLE"))
        },
        .init("delete TITLE", "deletes a thread of one's own, with its messages") { call in
            let list = try await threads(call)
            try await list.delete(try find(call, in: list))
        },
        .init("messages TITLE", "prints the messages of a thread, numbered") { call in
            let messages = try await messages(call).messages ?? []
            say(numbered: messages.map { "\($0.creator.name)  \($0.created)  \($0.text)" })
        },
        .init("write TITLE TEXT", "adds a message to a thread") { call in
            try await messages(call).add(call.required("TEXT"))
        },
        .init("delete-message TITLE NUMBER", "deletes a message of one's own") { call in
            let list = try await messages(call)
            try await list.delete(try call.item(of: list.messages ?? [], "message"))
        },
    ]
) { call, terminal in
    let session = try Session(call)
    while true {
        try await welcome(session, on: terminal)
        try await showThreads(session, on: terminal)
    }
}

/// All threads, for commands.
@MainActor
private func threads(_ call: Call) async throws -> ThreadList {
    let list = ThreadList(try Session(call))
    try await list.load()
    return list
}

/// The thread with the title that the command line names.
@MainActor
private func find(_ call: Call, in list: ThreadList) throws -> ThreadItem {
    try call.item(named: "TITLE", of: list.threads ?? [], "thread", by: \.title)
}

/// The messages of that thread.
@MainActor
private func messages(_ call: Call) async throws -> MessageList {
    let session = try Session(call)
    let threads = ThreadList(session)
    try await threads.load()
    let list = MessageList(session, of: try find(call, in: threads))
    try await list.load()
    return list
}
