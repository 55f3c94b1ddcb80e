// All tests of the page in one Chromium: to start one takes as long as many of them.

import './page.test.mjs';
import './operators.test.mjs';
import './past.test.mjs';
