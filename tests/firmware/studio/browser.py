# SPDX-License-Identifier: BSD-2-Clause
"""The studio's page in a real Chromium: draws digits and reads the answers."""

from tests.support.browser import complaints

__all__ = ["Page"]


class Page:
    """The page of a studio in a browser."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get(address)
        self.wait("document.body.dataset.ready === 'yes'")

    def wait(self, condition, seconds=300):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.05).until(
            lambda driver: driver.execute_script(f"return {condition}")
        )

    def choose(self, isa, place):
        """Put ``place``, a target's name, on the card of ``isa``."""
        self.driver.execute_script(
            "const s = document.querySelector(`article[data-isa='${arguments[0]}'] .place`); "
            "s.value = arguments[1]; "
            "s.dispatchEvent(new Event('change'));",
            isa,
            place,
        )

    def draw(self, strokes):
        """Clear the paper and draw with the mouse; returns the number of the request."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.by import By

        before = self.driver.execute_script("return document.body.dataset.request || ''")
        self.driver.find_element(By.ID, "clear").click()
        paper = self.driver.find_element(By.ID, "paper")
        size = paper.size
        pen = ActionChains(self.driver, duration=0)
        for stroke in strokes:
            places = [
                (round((x - 0.5) * size["width"]), round((y - 0.5) * size["height"]))
                for x, y in stroke
            ]
            pen.move_to_element_with_offset(paper, *places[0]).click_and_hold()
            for place in places[1:]:
                pen.move_to_element_with_offset(paper, *place)
            pen.release()
        pen.perform()
        self.wait(f"(document.body.dataset.request || '') !== '{before}'")
        return self.driver.execute_script("return document.body.dataset.request")

    def answers(self, request, cards=5):
        """ISA -> what its card shows, as soon as all have answered."""
        self.wait(
            f"document.querySelectorAll(\"article[data-answer='{request}']\").length === {cards}"
        )
        return self.driver.execute_script(
            """
            const cards = document.querySelectorAll(`article[data-answer='${arguments[0]}']`);
            const names = ["class", "cycles", "time", "equal"];
            const texts = card => names.map(
                name => [name, card.querySelector("." + name).textContent]);
            return Object.fromEntries([...cards].map(
                card => [card.dataset.isa, Object.fromEntries(texts(card))]));""",
            request,
        )

    def console(self):
        """Errors of the browser's console."""
        return complaints(self.driver)
