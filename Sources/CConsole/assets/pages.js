// The screens, in the order of the menu: name, label, class.
import { AccountsPage } from './accounts-page.js';
import { AdditionsPage } from './additions-page.js';
import { BackupsPage } from './backups-page.js';
import { ConnectionsPage } from './connections-page.js';
import { DataPage } from './data-page.js';
import { HistoryPage } from './history-page.js';
import { LogPage } from './log-page.js';
import { MetricsPage } from './metrics-page.js';
import { ProfilePage } from './profile-page.js';
import { QueuesPage } from './queues-page.js';
import { RulesPage } from './rules-page.js';
import { SettingsPage } from './settings-page.js';
import { TriggersPage } from './triggers-page.js';

export const pages = [
  ['data', 'Data', DataPage], ['rules', 'Rules', RulesPage], ['additions', 'Additions', AdditionsPage], ['accounts', 'Accounts', AccountsPage],
  ['connections', 'Connections', ConnectionsPage], ['profile', 'Profile', ProfilePage], ['history', 'History', HistoryPage],
  ['queues', 'Queues', QueuesPage], ['triggers', 'Triggers', TriggersPage],
  ['backups', 'Backups', BackupsPage], ['log', 'Log', LogPage], ['metrics', 'Metrics', MetricsPage],
  ['settings', 'Settings', SettingsPage],
];
