import HearthJSONTree
import HearthJSONValues
import HearthServerProtocol

/// Completions of a line: commands, their subcommands, paths of the server.
struct Completer {
    let session: ShellSession

    /// - parameter line: up to the cursor.
    func candidates(_ line: String) async -> LineEditor.Completion {
        guard let (words, start) = ShellWords.unfinished(line) else { return .none }
        let command = commandIndex(words)
        if command == words.count { return choose(ShellCommand.all.flatMap(\.names), start, behind: line) }
        guard let known = ShellCommand.named(words[command].text) else { return .none }
        let rest = words[(command + 1)...]
        guard let place = rest.firstIndex(where: { known.subcommand($0.text) != nil }),
            let entry = known.subcommand(rest[place].text)
        else {
            if start.hasPrefix("-") { return choose(options: known.allOptions, start, line) }
            if !known.subcommands.isEmpty { return choose(known.subcommands.flatMap(\.names), start, behind: line) }
            return await candidates(known, Array(rest), start, line)
        }
        if start.hasPrefix("-") { return choose(options: entry.options, start, line) }
        return await candidates(entry, Array(rest[(place + 1)...]), start, line)
    }

    /// For the word after others.
    private func candidates(
        _ command: ShellCommand, _ before: [Word], _ start: String, _ line: String
    ) async -> LineEditor.Completion {
        let index = before.count
        switch command.words {
        case .none: return .none
        case .paths: return await paths(start, line)
        case .path: return index == 0 ? await paths(start, line) : .none
        case .databases: return index == 0 ? choose(await databases, start, behind: line) : .none
        case .commands:
            if index == 0 { return choose(ShellCommand.all.flatMap(\.names), start, behind: line) }
            let named = index == 1 ? ShellCommand.named(before[0].text) : nil
            return choose(named?.subcommands.flatMap(\.names) ?? [], start, behind: line)
        case .operation:
            if index == 0 { return choose(["read", "write"], start, behind: line) }
            return index == 1 ? await paths(start, line) : .none
        }
    }

    /// The position of the command after `dry` and `as UID`.
    private func commandIndex(_ words: [Word]) -> Int {
        var index = 0
        while index < words.count {
            switch words[index].text {
            case "dry": index += 1
            case "as" where index + 1 < words.count: index += 2
            default: return index
            }
        }
        return index
    }

    private var databases: [String] {
        get async {
            let answer = try? await session.noticingLoss { () async throws(ShellError) in
                try await session.ask(.databases)
            }
            return answer?["databases"]?.array?.compactMap { $0.object?["name"]?.text } ?? []
        }
    }

    private func choose(options: [CommandOption], _ start: String, _ line: String) -> LineEditor.Completion {
        let all = CommandOption.joined(options, CommandOption.common)
        return choose(all.map { "--\($0.name)" }, start, behind: line)
    }

    private func choose(_ names: [String], _ start: String, behind line: String) -> LineEditor.Completion {
        let found = names.filter { $0.hasPrefix(start) }.sorted()
        return .init(replaced: start.count, candidates: found.map { ($0 + " ", $0) })
    }

    /// Children of the place typed so far, which begin with the text after its last slash.
    private func paths(_ start: String, _ line: String) async -> LineEditor.Completion {
        let cut = start.lastIndex(of: "/").map { start.index(after: $0) } ?? start.startIndex
        let (parent, prefix) = (String(start[..<cut]), String(start[cut...]))
        guard let path = try? session.path(parent.isEmpty ? nil : Word(parent)),
            let found = try? await session.noticingLoss({ () async throws(ShellError) in
                try await PathCompletion(of: path, startingWith: prefix) { (path, after, limit) throws(ShellError) in
                    try await session.page(path, after: after, limit: limit)
                }
            })
        else { return .none }
        let written = ShellWords.escaped(start)
        let replaced = line.hasSuffix(written) ? written.count : start.count
        let candidates = found.children.map { child in
            let isOpen = child.node.type == "object"
            return (ShellWords.escaped(parent + child.key) + (isOpen ? "/" : " "), child.key + (isOpen ? "/" : ""))
        }
        let isOnly = candidates.count == 1 && !found.isCut
        return .init(
            replaced: replaced, candidates: candidates,
            common: isOnly ? nil : ShellWords.escaped(parent + found.common), isCut: found.isCut)
    }
}
