/** The specs of what is said within sessions once more, through a round-robin of three nodes that share a Redis. */
import { rerun } from '../support/rerun';
import { callSuites } from './suites';

rerun(callSuites);
