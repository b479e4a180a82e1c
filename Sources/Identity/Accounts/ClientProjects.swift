import HearthJSONValues
import Synchronization
import HearthSystem

/// Whose project a client of the accounts means, which names none (accounts.md 3). Any thread.
///
/// In production, and with a project of the operator's choice, there is one answer. Otherwise development mode learns
/// the projects of its apps: administrators' programs and tools name theirs, and a database `P-default-rtdb` is that of
/// `P`. A client belongs to the project of its app, if it is known from the app's database, or else to the project that
/// was named last. Learnt projects are kept in a file.
package final class ClientProjects: Sendable {
    private struct State: Equatable {
        var current: String
        /// False as long as `current` is only the name that a server has from the beginning.
        var isNamed = false
        /// Projects that somebody named, or that have accounts.
        var known: Set<String> = []
        /// The projects of apps by their ids, the latest at the end.
        var apps: [App] = []

        mutating func remember(_ app: App) {
            apps.removeAll { $0.id == app.id }
            if apps.count == ClientProjects.appsMax { apps.removeFirst() }
            apps.append(app)
        }
    }

    private struct App: Equatable {
        var id: String
        var project: String
    }

    /// Who names a project.
    package enum Naming: Sendable {
        case tool(project: String)
        /// A client connects to a database. `app` is the id by which SDKs tell apps apart, if it tells that.
        case database(String, app: String?)
    }

    /// The learnt projects. `adopts` are the accounts of clients that came before the current project had a name; they
    /// become that project's.
    struct Lesson: Equatable {
        var adopts: String?
    }

    private static let appsMax = 1000
    private static let appByteCountMax = 200
    private static let databaseSuffix = "-default-rtdb"

    private let file: String?
    private let state: Mutex<State>

    /// - parameter project: of all clients, or, if there is a file, of those who come before any is named.
    init(_ project: String, learningIn file: String?, known: Set<String>) {
        self.file = file
        var state = State(current: project)
        if let file, let text = try? PrivateFile.read(file), let kept = (try? JSONValue(parsing: text))?.object {
            if let current = kept["current"]?.text, Realm.isValidName(current) {
                state.current = current
                state.isNamed = true
            }
            for app in (kept["apps"]?.object ?? JSONObject()).members.suffix(Self.appsMax) {
                guard let project = app.value.text, Realm.isValidName(project) else { continue }
                state.apps.append(App(id: String(decoding: app.name, as: UTF8.self), project: project))
            }
        }
        state.known = known.union(state.apps.map(\.project))
        if file == nil || state.isNamed { state.known.insert(state.current) }
        self.state = Mutex(state)
    }

    /// Whether it learns.
    package var isLearning: Bool { file != nil }

    package var current: String { state.withLock { $0.current } }

    func knows(_ project: String) -> Bool { state.withLock { $0.known.contains(project) } }

    /// The project that an app is known to use: its key is the project's name, or its database was seen.
    func project(key: String?, app: String?) -> String? {
        guard isLearning else { return nil }
        return state.withLock { state in
            if let key, state.known.contains(key) { return key }
            return state.apps.first { $0.id == app }?.project
        }
    }

    /// Adds a named project; nil if it is known.
    func learn(_ naming: Naming) -> Lesson? {
        state.withLock { state in
            let old = state
            guard let project = Self.project(naming, state.known) else { return nil }
            state.known.insert(project)
            // A tool may have to do with several projects of a server whose operator chose one for the clients.
            guard isLearning else { return nil }
            state.current = project
            state.isNamed = true
            if case .database(_, let app?) = naming, 1...Self.appByteCountMax ~= app.utf8.count,
                !state.apps.contains(App(id: app, project: project))
            {
                state.remember(App(id: app, project: project))
            }
            if state == old { return nil }
            return Lesson(adopts: old.isNamed || old.current == project ? nil : old.current)
        }
    }

    private static func project(_ naming: Naming, _ known: Set<String>) -> String? {
        switch naming {
        case .tool(let project): return project
        case .database(let name, _):
            if known.contains(name) { return name }
            guard name.hasSuffix(databaseSuffix) else { return nil }
            let project = String(name.dropLast(databaseSuffix.utf8.count))
            return Realm.isValidName(project) ? project : nil
        }
    }

    /// Somebody has signed in to a project. Those who name none do not come to it by that.
    func note(_ project: String) {
        guard isLearning else { return }
        state.withLock { state in
            if state.isNamed || project != state.current { state.known.insert(project) }
        }
    }

    /// A name that is no longer in use.
    func forget(_ project: String) { state.withLock { _ = $0.known.remove(project) } }

    /// Whether ``learn(_:)`` would say something new.
    package func isNews(_ naming: Naming) -> Bool {
        state.withLock { state in
            guard isLearning, let project = Self.project(naming, state.known) else { return false }
            if !state.isNamed || state.current != project { return true }
            guard case .database(_, let app?) = naming else { return false }
            return !state.apps.contains(App(id: app, project: project))
        }
    }

    /// Saves the learnt projects. One caller at a time.
    func save() throws(PrivateFile.Failure) {
        guard let file else { return }
        let state = state.withLock { $0 }
        var apps = JSONObject()
        for app in state.apps { apps[app.id] = .text(app.project) }
        try PrivateFile.replace(file, with: JSONObject(["current": .text(state.current), "apps": .object(apps)]).bytes)
    }
}
